// The flags of commands that use a trained model.
#ifndef MILLRACE_TOOLS_MODEL_FLAGS_H_
#define MILLRACE_TOOLS_MODEL_FLAGS_H_

#include <string>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "proto/config.pb.h"
#include "tools/config_flags.h"

namespace CLI {
class App;
}

namespace millrace {

struct ModelFlags : ConfigFlags {
  std::string checkpoint;
  std::string weights;  // see add_weights_flag
};

// Adds the flags of add_config_flags, --checkpoint and --weights to a command. The configuration
// may be left out: see load_model_config. `flags` must live until the command line is parsed.
void add_model_flags(CLI::App& command, ModelFlags& flags);

// Loads the configuration of the model as load_config does. Without flags.config, the part `train`
// is that of the checkpoint and the part `run` has its defaults; flags change both. Of a folder of
// checkpoints, the newest that can be opened gives it: all checkpoints of a folder are of one job.
// Each of `world_size` ranks calls this alone; join_ranks finds ranks whose `train` differs, and
// load_model has all ranks load one checkpoint.
// Generated data is not made if flags.eval_data replaces all that reads it.
// Errors: those of load_config and check_config_file; those of open_checkpoint; InvalidArgument
// asking for a configuration, if the checkpoint has none or one that this program cannot read.
absl::StatusOr<JobConfig> load_model_config(FileSystem& files, const ModelFlags& flags,
                                            int world_size);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_MODEL_FLAGS_H_
