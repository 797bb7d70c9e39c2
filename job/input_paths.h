// The files that a configuration names.
#ifndef MILLRACE_JOB_INPUT_PATHS_H_
#define MILLRACE_JOB_INPUT_PATHS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/file_system.h"
#include "proto/config.pb.h"

namespace millrace {

// A file that a run reads, or writes under a fixed name.
struct RunInput {
  std::string what;  // description in messages, such as "train.train_data"
  std::string path;
};

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

// Refuses unexpanded shell paths of inputs (base/path/path_check.h) that name no existing file.
// Errors: NotFound with the field or data, and the path.
absl::Status check_input_paths(FileSystem& files, const TrainConfig& config,
                               const DataNames& names = {});

}  // namespace millrace

#endif  // MILLRACE_JOB_INPUT_PATHS_H_
