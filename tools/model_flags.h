// The flags of commands that use a trained model.
#ifndef MILLRACE_TOOLS_MODEL_FLAGS_H_
#define MILLRACE_TOOLS_MODEL_FLAGS_H_

#include <string>

#include "tools/config_flags.h"

namespace millrace {

struct ModelFlags : ConfigFlags {
  std::string checkpoint;
  std::string weights;  // see add_weights_flag
};

// Adds the flags of add_config_flags, --checkpoint and --weights to a command. `flags` must live
// until the command line is parsed.
void add_model_flags(CLI::App& command, ModelFlags& flags);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_MODEL_FLAGS_H_
