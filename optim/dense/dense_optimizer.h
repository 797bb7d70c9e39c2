// The interface of optimizers of ordinary parameters.
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

// Updates the parameters it was made with from their gradients. A parameter without a gradient
// stays. Called from the trainer's thread.
class DenseOptimizer {
 public:
  virtual ~DenseOptimizer() = default;
  // One update; progress stands before this step. Errors: Internal with what LibTorch said.
  virtual absl::Status step(const Progress& progress) = 0;
  // Gradients become undefined, not zero.
  virtual void zero_grad() = 0;
  // The rate of the next step.
  virtual double learning_rate(const Progress& progress) const = 0;
  // Returns the schedule that learning_rate() evaluates; null, the default: there is none.
  // Borrowed.
  virtual Schedule* schedule() { return nullptr; }
  // Names of its parameters.
  virtual const std::vector<std::string>& parameters() const = 0;

  // What the next step depends on beside parameters and gradients, by "<parameter>/<what>", such as
  // "fc.weight/exp_avg"; in the order of parameters(). Tensors that steps change, but counts
  // ("<parameter>/step", int64 []) are copies. A parameter that never had a gradient may have none.
  virtual std::vector<NamedParameter> state() const = 0;
  // Why `state` is none of this optimizer over these parameters: a line for each name that is
  // unknown (with the nearest), missing or there twice, and for each other type or shape. None:
  // load_state will take it.
  virtual std::vector<std::string> state_differences(
      const std::vector<NamedParameter>& state) const = 0;
  // Replaces the state of all parameters by copies: where `state` has nothing of a parameter, it
  // has none. Errors: InvalidArgument with the differences; nothing changes then.
  virtual absl::Status load_state(const std::vector<NamedParameter>& state) = 0;
};

// Returns the name by which reports give the rate of dense optimizer `index`: "dense", "dense1", …
inline std::string dense_rate_name(size_t index) {
  return index == 0 ? "dense" : "dense" + std::to_string(index);
}

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_DENSE_OPTIMIZER_H_
