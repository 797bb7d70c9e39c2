// Places that belong to checkpoints, where nothing else may be written.
#ifndef MILLRACE_CHECKPOINT_FOLDER_OUTSIDE_CHECKPOINTS_H_
#define MILLRACE_CHECKPOINT_FOLDER_OUTSIDE_CHECKPOINTS_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// True if a directory in `folder` has the name of a checkpoint and a manifest.
bool has_checkpoint(FileSystem& files, const std::string& folder);

// Refuses a file or directory `path` that is, or would lie in, a checkpoint or the folder
// `checkpoints` of a run. A checkpoint is known by its name and a manifest, or, under another name,
// by a manifest that can be read. A folder of checkpoints is known by its lock or its name together
// with a checkpoint in it, or by its lock, its name and the lock of the run above it. Follows
// symbolic links. Writes nothing, and accepts URIs.
// Errors: PermissionDenied naming the path, the checkpoint or folder, and what to do.
absl::Status check_outside_checkpoints(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_OUTSIDE_CHECKPOINTS_H_
