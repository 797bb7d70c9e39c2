// Digests of the content of a checkpoint, by the formulas of docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FOLDER_CONTENT_DIGESTS_H_
#define MILLRACE_CHECKPOINT_FOLDER_CONTENT_DIGESTS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/format/tensor_type.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Returns the summand of one tensor of a dense file in the digest "dense".
absl::uint128 dense_tensor_digest(absl::string_view name, TensorType type,
                                  absl::Span<const int64_t> shape, absl::string_view bytes);

// The content that a digest covers.
enum class DigestOf {
  kEverything,
  kModel  // as if only the parts DENSE and ROWS existed
};

// Computes the digests "dense" and "table/NAME" of a checkpoint from its files; "dense" only if
// dense files exist, and a table's digest only if the table has ids and weights. Reads and checks
// all files. Memory: the largest dense tensor, and some chunks per thread.
// REQUIRES: not a delta.
// Errors: read errors.
absl::StatusOr<std::map<std::string, absl::uint128>> compute_content_digests(
    const CheckpointReader& checkpoint, DigestOf of, ThreadPool& threads);

// Returns one digest of all content digests of a manifest. Two manifests have equal results if all
// their digests, by name, are equal.
absl::uint128 combined_content_digest(const CheckpointManifest& manifest);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_CONTENT_DIGESTS_H_
