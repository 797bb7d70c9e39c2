// The flag that chooses the weights of a checkpoint.
#ifndef MILLRACE_TOOLS_WEIGHTS_FLAG_H_
#define MILLRACE_TOOLS_WEIGHTS_FLAG_H_

#include <string>

#include "checkpoint/state/state_reader.h"
#include "proto/config.pb.h"

namespace CLI {
class App;
}

namespace millrace {

// Adds --weights average|trained to a command. `weights` must live until the command line is
// parsed; "" without the flag.
void add_weights_flag(CLI::App& command, std::string& weights);

// Returns the value of the flag, by default default_weights() of the configuration.
ModelWeights chosen_weights(const std::string& weights, const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_WEIGHTS_FLAG_H_
