// The flags of commands with a trained model.
#ifndef MILLRACE_TOOLS_MODEL_FLAGS_H_
#define MILLRACE_TOOLS_MODEL_FLAGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "checkpoint/state/state_reader.h"
#include "proto/config.pb.h"
#include "tools/config_flags.h"
#include "tools/output/output_file.h"

namespace CLI {
class App;
}  // namespace CLI

namespace millrace {

struct ModelFlags : ConfigFlags {
  std::string checkpoint;
  std::string weights;  // see add_weights_flag
};

// Changes each evaluation set so that it is read completely, in the order of its files.
void read_in_order(TrainConfig* train);

// Adds the flags of add_config_flags, --checkpoint and --weights to a command. The configuration is
// optional: see load_model_config. `flags` must live until the command line is parsed.
void add_model_flags(CLI::App& command, ModelFlags& flags);

// Loads the configuration of the model like load_config. Without flags.config, `train` is taken
// from the checkpoint and `run` has its defaults; flags change both. In a folder of checkpoints,
// the newest one that can be opened supplies the configuration, since all checkpoints of a folder
// are of one job. Each of `world_size` ranks calls this function alone; join_ranks detects ranks
// with a different `train`, and load_model makes all ranks load one checkpoint. Generated data is
// not made if flags.eval_data replaces all uses of the data.
// Errors: errors of load_config, check_config_file and open_checkpoint; InvalidArgument that
// requests a configuration if the checkpoint has none, or one that the program cannot read.
absl::StatusOr<JobConfig> load_model_config(FileSystem& files, const ModelFlags& flags,
                                            int world_size);

// Returns the files on which the checkpoint at `checkpoint`, or the newest in a folder, was
// trained, as far as they are known: files that its configuration names, and `output` if
// is_file_of_training(). No output may replace them.
std::vector<RunInput> training_files(FileSystem& files, const std::string& checkpoint,
                                     const std::string& output);

// Adds --weights average|trained to a command. `weights` must live until the command line is
// parsed; "" without the flag.
void add_weights_flag(CLI::App& command, std::string& weights);

// Returns the value of the flag, by default default_weights() of the configuration.
ModelWeights chosen_weights(const std::string& weights, const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_MODEL_FLAGS_H_
