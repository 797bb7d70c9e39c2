// The files that a job reads.
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
  std::string eval_data = "";  // of all evaluation sets; "": each has the name of its field
};

// Returns the files that a job reads, patterns expanded: its configuration `config_path` (""
// if it is no file), data, vocabularies and other files of transforms, sources of its model bank,
// and what is in directories in which windows appear, as far as they take it. Omits URIs, and
// patterns that cannot be read.
std::vector<RunInput> run_inputs(FileSystem& files, const std::string& config_path,
                                 const TrainConfig& config, const DataNames& names = {});

// Returns the files that `train` writes in its output directory, which no other output of the run
// may be.
std::vector<RunInput> run_outputs(const RunConfig& config);

// Refuses paths of inputs that a shell should have expanded (base/path/shell_path.h) and that name
// nothing as they are. Errors: NotFound naming field or data, and path.
absl::Status check_input_paths(FileSystem& files, const TrainConfig& config,
                               const DataNames& names = {});

}  // namespace millrace

#endif  // MILLRACE_TOOLS_OUTPUT_RUN_INPUTS_H_
