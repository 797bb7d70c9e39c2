// The files that a run writes under names of the configuration.
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

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_RUN_OUTPUTS_H_
