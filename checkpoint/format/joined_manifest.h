// The manifest of a checkpoint that several ranks wrote.
#ifndef MILLRACE_CHECKPOINT_FORMAT_JOINED_MANIFEST_H_
#define MILLRACE_CHECKPOINT_FORMAT_JOINED_MANIFEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Joins the manifests of all ranks, serialized, in the order of the ranks. Files and digests of the
// state of ranks follow one another; rows and digests of a table are sums; `evicted_log_begins` is
// the largest of all ranks. Every other field is that of rank 0.
// Errors: Internal naming the rank, for a manifest that cannot be parsed and for ranks that
// disagree on the step, on what is left out, on the base of a delta or on a table.
absl::StatusOr<CheckpointManifest> joined_manifest(const std::vector<std::string>& parts);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_JOINED_MANIFEST_H_
