#include "tools/model_flags.h"

#include <CLI/CLI.hpp>

#include "tools/weights_flag.h"

namespace millrace {

void add_model_flags(CLI::App& command, ModelFlags& flags) {
  add_config_flags(command, flags);
  command
      .add_option("--checkpoint", flags.checkpoint,
                  "checkpoint, folder of them, or output directory of a training run; DIR/best: "
                  "the best of such a folder or directory")
      ->required();
  add_weights_flag(command, flags.weights);
}

}  // namespace millrace
