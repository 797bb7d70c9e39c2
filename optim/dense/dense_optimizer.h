// The interface of optimizers of dense parameters.
#ifndef MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_H_
#define MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/progress.h"
#include "optim/dense/named_parameter.h"

namespace millrace {

class Schedule;

// Updates the parameters that it was created with from their gradients. Does not change a parameter
// without a gradient. Called from the trainer's thread.
class DenseOptimizer {
 public:
  virtual ~DenseOptimizer() = default;
  // Makes one update. `progress`: before this step. Called once per applied step. Errors: Internal
  // with the message of LibTorch.
  virtual absl::Status step(const Progress& progress) = 0;
  // Makes all gradients undefined, not zero. Called after each step, also after a refused step.
  virtual void zero_grad() = 0;
  // Returns the rate of the next step.
  virtual double learning_rate(const Progress& progress) const = 0;
  // Returns the schedule that learning_rate() evaluates, borrowed; null without a schedule. The
  // default returns null.
  virtual Schedule* schedule() { return nullptr; }
  // Returns the names of the parameters.
  virtual const std::vector<std::string>& parameters() const = 0;

  // Returns the state that the next step depends on in addition to parameters and gradients, named
  // "<parameter>/<field>", such as "fc.weight/exp_avg", in the order of parameters(). Steps change
  // these tensors in place, except counts ("<parameter>/step", int64 []), which are copies. A
  // parameter that never had a gradient may have no state. Called for each checkpoint.
  virtual std::vector<NamedParameter> state() const = 0;
  // Returns the reasons why `state` does not fit this optimizer and its parameters: a line for each
  // unknown name (with the nearest), missing or repeated name, and for each wrong type or shape.
  // Empty if load_state() accepts `state`.
  virtual std::vector<std::string> state_differences(
      const std::vector<NamedParameter>& state) const = 0;
  // Replaces the state of all parameters by copies. A parameter that `state` omits has no state
  // afterwards. Called when a checkpoint is loaded. Errors: InvalidArgument with the differences,
  // and then nothing changes.
  virtual absl::Status load_state(const std::vector<NamedParameter>& state) = 0;
};

// Returns the name by which reports give the rate of dense optimizer `index`: "dense", "dense1", …
inline std::string dense_rate_name(size_t index) {
  return index == 0 ? "dense" : "dense" + std::to_string(index);
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_H_
