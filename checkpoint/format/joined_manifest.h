// The manifest of a checkpoint that several ranks wrote.
#ifndef MILLRACE_CHECKPOINT_FORMAT_JOINED_MANIFEST_H_
#define MILLRACE_CHECKPOINT_FORMAT_JOINED_MANIFEST_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Joins the serialized manifests of all ranks, in the order of the ranks. Concatenates the files
// and the digests of rank state; adds up the rows and digests of a table; takes the largest
// `evicted_log_begins` of all ranks, and every other field from rank 0.
// Errors: Internal naming the rank, for a manifest that cannot be parsed and for ranks that
// disagree on the step, on omitted tensors and tables, on the base of a delta or on a table.
absl::StatusOr<CheckpointManifest> joined_manifest(const std::vector<std::string>& parts);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FORMAT_JOINED_MANIFEST_H_
