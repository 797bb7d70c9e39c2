// Export of the files that a job refers to, in addition to its weights.
#ifndef MILLRACE_TOOLS_CHECKPOINT_REFERRED_EXPORT_H_
#define MILLRACE_TOOLS_CHECKPOINT_REFERRED_EXPORT_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/checkpoint_manifest.pb.h"

namespace millrace {

// Copies the files that a manifest refers to from `sources` into DIRECTORY/referred_files, under
// their names. Later files of the same name get numbers ("1-words.txt"). Writes
// DIRECTORY/referred_files.json, an array of objects: `file` (relative to the directory), `path`
// (the original path), `size`, `digest`, `used_by`. Writes nothing if the manifest refers to no
// files. Returns: paths of the written files.
// Errors: NotFound and FailedPrecondition for files that changed since the checkpoint was written;
// InvalidArgument for URIs, pipes and devices, which are not opened; errors of reading and writing.
absl::StatusOr<std::vector<std::string>> export_referred_files(FileSystem& sources,
                                                               const CheckpointManifest& manifest,
                                                               FileSystem& files,
                                                               const std::string& directory);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_CHECKPOINT_REFERRED_EXPORT_H_
