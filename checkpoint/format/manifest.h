// The manifest of a checkpoint: reading, writing, and its rules. See docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FORMAT_MANIFEST_H_
#define MILLRACE_CHECKPOINT_FORMAT_MANIFEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

inline constexpr int kCheckpointFormatVersion = 3;
inline constexpr int64_t kMaxManifestBytes = 256 << 20;
// The maximum length of a chain of deltas.
inline constexpr int kMaxDeltaDepth = 1000;

// Returns the text of manifest.json. Sets digest and format version, ignores their earlier values,
// and sorts files and their tensors.
// Errors: as check_manifest(); InvalidArgument also for texts that are not UTF-8 and for more than
// kMaxManifestBytes.
absl::StatusOr<std::string> format_manifest(CheckpointManifest manifest);

// Parses the text of manifest.json. Errors: DataLoss naming the mistake in the digest, the JSON or
// a rule; Unimplemented, naming the version, for a newer format.
absl::StatusOr<CheckpointManifest> parse_manifest(absl::string_view text);

// Checks all rules of the format. Errors: InvalidArgument naming field, file or tensor.
absl::Status check_manifest(const CheckpointManifest& manifest);

// Returns true if two checkpoints have equal content: parts, base, progress except time,
// fingerprint, omitted names, content digests and tables.
bool equal_content(const CheckpointManifest& a, const CheckpointManifest& b);

bool has_part(const CheckpointManifest& manifest, CheckpointManifest::Part part);

// Returns the bytes of all files except the manifest.
int64_t total_bytes(const CheckpointManifest& manifest);

// Joins the serialized manifests of all ranks, in the order of the ranks. Concatenates the files
// and the digests of rank state; adds up the rows and digests of a table; takes the largest
// `evicted_log_begins` of all ranks, and every other field from rank 0.
// Errors: Internal naming the rank, for a manifest that cannot be parsed and for ranks that
// disagree on the step, on omitted tensors and tables, on the base of a delta or on a table.
absl::StatusOr<CheckpointManifest> joined_manifest(const std::vector<std::string>& parts);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_MANIFEST_H_
