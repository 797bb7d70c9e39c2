// What optimizers of LibTorch keep about each parameter, as named tensors.
#ifndef MILLRACE_OPTIM_TORCH_STATE_H_
#define MILLRACE_OPTIM_TORCH_STATE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "optim/named_parameter.h"

namespace torch::optim {
class Optimizer;
class OptimizerParamState;
}  // namespace torch::optim

namespace millrace {

// What one kind of optimizer keeps about a parameter. There is one object for each kind, which
// lives as long as the process.
class TorchState {
 public:
  using ParamState = torch::optim::OptimizerParamState;

  virtual ~TorchState() = default;
  // Names of what it keeps; all or none of them are there.
  virtual const std::vector<std::string>& names() const = 0;
  // Whether each parameter has state from the beginning.
  virtual bool always_there() const { return false; }
  // The values, in the order of names(): tensors like the parameter, and counts as int64 [].
  virtual std::vector<at::Tensor> read(const ParamState& state) const = 0;
  // Whether names()[i] is a count.
  virtual bool is_count(size_t i) const = 0;
  // A new state of copies of `values`, in the order of names(). REQUIRES: types and shapes fit.
  virtual std::unique_ptr<ParamState> make(const std::vector<at::Tensor>& values) const = 0;
};

const TorchState& sgd_state(bool with_momentum);
const TorchState& adagrad_state();
const TorchState& adam_state();
const TorchState& adamw_state();

// `names` are those of the optimizer's parameters, in its order. These are what DenseOptimizer's
// state, state_differences and load_state do. write REQUIRES: there are no differences.
std::vector<NamedParameter> read_torch_state(const torch::optim::Optimizer& optimizer,
                                             const TorchState& kind,
                                             const std::vector<std::string>& names);
std::vector<std::string> torch_state_differences(const torch::optim::Optimizer& optimizer,
                                                 const TorchState& kind,
                                                 const std::vector<std::string>& names,
                                                 const std::vector<NamedParameter>& state);
void write_torch_state(torch::optim::Optimizer& optimizer, const TorchState& kind,
                       const std::vector<std::string>& names,
                       const std::vector<NamedParameter>& state);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_TORCH_STATE_H_
