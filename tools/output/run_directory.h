// Which directories are output directories of runs.
#ifndef MILLRACE_TOOLS_OUTPUT_RUN_DIRECTORY_H_
#define MILLRACE_TOOLS_OUTPUT_RUN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// True if a run wrote in this directory: its file `lock` says which process held it
// (checkpoint/folder/directory_lock.h), or its folder `checkpoints` has a checkpoint with a
// manifest.
bool is_run_directory(FileSystem& files, const std::string& directory);

// Refuses an output directory that is in the place of checkpoints (check_outside_checkpoints), and,
// unless `overwrite` is true, one that holds files of something else than a run. Accepts a
// directory that is missing or empty, and one of nothing but empty files and directories,
// summaries, and files that this process, or the launcher of its ranks, writes its output to.
// Writes nothing. Errors: PermissionDenied naming the checkpoint, or some of the files.
absl::Status check_run_directory(FileSystem& files, const std::string& directory, bool overwrite);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_RUN_DIRECTORY_H_
