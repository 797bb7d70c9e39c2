// Protects the directories of checkpoints from other writers.
#ifndef MILLRACE_CHECKPOINT_FOLDER_OUTSIDE_CHECKPOINTS_H_
#define MILLRACE_CHECKPOINT_FOLDER_OUTSIDE_CHECKPOINTS_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// Returns true if a directory in `folder` has the name of a checkpoint and a manifest.
bool has_checkpoint(FileSystem& files, const std::string& folder);

// Refuses a file or directory `path` that is, or would lie in, a checkpoint or the folder
// `checkpoints` of a run. A directory is a checkpoint if it has the name of a checkpoint and a
// manifest, or, under another name, a manifest that can be read. A directory is a folder of
// checkpoints if it contains a checkpoint and has a lock or the name, or if it has a lock and the
// name and the run's directory above has a lock. Follows symbolic links. Writes nothing, and
// accepts URIs.
// Errors: PermissionDenied naming the path, the checkpoint or folder, and the remedy.
absl::Status check_outside_checkpoints(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_FOLDER_OUTSIDE_CHECKPOINTS_H_
