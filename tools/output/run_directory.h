// Recognizes output directories of runs.
#ifndef MILLRACE_TOOLS_OUTPUT_RUN_DIRECTORY_H_
#define MILLRACE_TOOLS_OUTPUT_RUN_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "base/file_system.h"

namespace millrace {

// Returns true if a run wrote in this directory: its file `lock` names the process that held the
// lock (checkpoint/folder/directory_lock.h), or its folder `checkpoints` has a checkpoint with a
// manifest.
bool is_run_directory(FileSystem& files, const std::string& directory);

// Refuses an output directory in the place of checkpoints (check_outside_checkpoints), and, unless
// `overwrite` is true, a directory with files that are not of a run. Accepts a directory that is
// missing or empty, or has only empty files and directories, summaries, and files to which this
// process, or the launcher of its ranks, writes its output. Writes nothing.
// Errors: PermissionDenied with the checkpoint, or some of the files.
absl::Status check_run_directory(FileSystem& files, const std::string& directory, bool overwrite);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_RUN_DIRECTORY_H_
