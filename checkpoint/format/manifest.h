// The manifest of a checkpoint: reading and writing it, and the rules it must keep. See
// docs/checkpoint_format.md.
#ifndef MILLRACE_CHECKPOINT_FORMAT_MANIFEST_H_
#define MILLRACE_CHECKPOINT_FORMAT_MANIFEST_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

inline constexpr int kCheckpointFormatVersion = 3;
inline constexpr int64_t kMaxManifestBytes = 256 << 20;
// The longest chain of deltas.
inline constexpr int kMaxDeltaDepth = 1000;

// The text of manifest.json. Digest and format version are set, files and their tensors sorted;
// what was there is ignored.
// Errors: InvalidArgument for what check_manifest refuses, for texts that are not UTF-8 and for
// more than kMaxManifestBytes.
absl::StatusOr<std::string> format_manifest(CheckpointManifest manifest);

// Reads one back. Errors: DataLoss saying what is wrong: the digest, the JSON, a rule;
// Unimplemented, naming the version, for a newer format.
absl::StatusOr<CheckpointManifest> parse_manifest(absl::string_view text);

// Whether all rules of the format hold. Errors: InvalidArgument naming field, file or tensor.
absl::Status check_manifest(const CheckpointManifest& manifest);

// Whether two checkpoints hold the same: parts, base, progress but for time, fingerprint, what is
// left out, content digests, tables.
bool equal_content(const CheckpointManifest& a, const CheckpointManifest& b);

bool has_part(const CheckpointManifest& manifest, CheckpointManifest::Part part);

// Of all files but the manifest.
int64_t total_bytes(const CheckpointManifest& manifest);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_MANIFEST_H_
