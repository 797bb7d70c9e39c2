// The input files of a job.
#ifndef MILLRACE_TOOLS_OUTPUT_RUN_INPUTS_H_
#define MILLRACE_TOOLS_OUTPUT_RUN_INPUTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "proto/config.pb.h"
#include "tools/output/output_file.h"

namespace millrace {

// Names of data in messages.
struct DataNames {
  std::string train_data = "train.train_data";
  std::string eval_data = "";  // of all evaluation sets; "": each set has the name of its field
};

// Returns the files that a job reads, with patterns expanded: its configuration `config_path`
// (unless ""), data, vocabularies and other files of transforms, sources of its model bank, and
// files in window directories that match. Omits URIs, and patterns that cannot be read.
std::vector<RunInput> run_inputs(FileSystem& files, const std::string& config_path,
                                 const TrainConfig& config, const DataNames& names = {});

// Returns the files that `train` writes in its output directory, which no other output of the run
// may use.
std::vector<RunInput> run_outputs(const RunConfig& config);

// Checks that no sink and no hook would replace or extend an input of the job under a name that the
// configuration gives: train.csv and eval.csv of sinks, the file of mllog, files of
// embedding_projector. Errors: InvalidArgument with the sink or hook, the file and the input.
absl::Status check_written_files(FileSystem& files, const std::string& config_path,
                                 const JobConfig& job);

// Refuses unexpanded shell paths of inputs (base/path/shell_path.h) that name no existing file.
// Errors: NotFound with the field or data, and the path.
absl::Status check_input_paths(FileSystem& files, const TrainConfig& config,
                               const DataNames& names = {});

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_RUN_INPUTS_H_
