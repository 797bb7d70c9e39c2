// Files that a job refers to, beside its exported weights.
#ifndef MILLRACE_TOOLS_CHECKPOINT_REFERRED_EXPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_REFERRED_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Copies the files that a manifest refers to from `sources` into DIRECTORY/referred_files, under
// their names; of files of one name the later ones get numbers ("1-words.txt"). Writes
// DIRECTORY/referred_files.json, an array of objects: `file` (relative to the directory), `path`
// (where it was), `size`, `digest`, `used_by`. Nothing where the manifest refers to none.
// Returns: paths of the files written.
// Errors: NotFound and FailedPrecondition for files that are not what they were when the checkpoint
// was made; those of reading and writing.
absl::StatusOr<std::vector<std::string>> export_referred_files(FileSystem& sources,
                                                               const CheckpointManifest& manifest,
                                                               FileSystem& files,
                                                               const std::string& directory);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_REFERRED_EXPORT_H_
