// Fingerprints of what a checkpoint holds, by the formulas of docs/checkpoint_format.md.
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

// What one tensor of a dense file adds to the digest "dense".
absl::uint128 dense_tensor_digest(absl::string_view name, TensorType type,
                                  absl::Span<const int64_t> shape, absl::string_view bytes);

// What of a checkpoint a digest is of.
enum class DigestOf {
  kEverything,
  kModel  // as if only the parts DENSE and ROWS were there
};

// The digests "dense" and "table/NAME" of a checkpoint, computed from its files; "dense" only if
// there are dense files, a table's only if it has ids and weights. All files are read, with the
// checks of reading. Memory: the largest dense tensor, and some chunks for each thread.
// REQUIRES: not a delta. Errors: those of reading.
absl::StatusOr<std::map<std::string, absl::uint128>> compute_content_digests(
    const CheckpointReader& checkpoint, DigestOf of, ThreadPool& threads);

// One digest of all that a manifest has: equal if all are, by name.
absl::uint128 combined_content_digest(const CheckpointManifest& manifest);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_CONTENT_DIGESTS_H_
