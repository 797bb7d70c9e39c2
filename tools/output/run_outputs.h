// The output directory of a run, and the files that a run writes under names of the configuration.
#ifndef MILLRACE_TOOLS_OUTPUT_RUN_OUTPUTS_H_
#define MILLRACE_TOOLS_OUTPUT_RUN_OUTPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "job/input_paths.h"
#include "proto/config.pb.h"

namespace millrace {

// Returns the files that `train` writes in its output directory, which no other output of the run
// may use.
std::vector<RunInput> run_outputs(const RunConfig& config);

// Checks that no sink and no hook would replace or extend an input of the job under a name that the
// configuration gives: train.csv and eval.csv of sinks, the file of mllog, files of
// embedding_projector. Errors: InvalidArgument with the sink or hook, the file and the input.
absl::Status check_written_files(FileSystem& files, const std::string& config_path,
                                 const JobConfig& job);

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

#endif  // MILLRACE_TOOLS_OUTPUT_RUN_OUTPUTS_H_
