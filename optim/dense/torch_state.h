// State of LibTorch's optimizers as named tensors.
#ifndef MILLRACE_OPTIM_DENSE_TORCH_STATE_H_
#define MILLRACE_OPTIM_DENSE_TORCH_STATE_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "optim/dense/named_parameter.h"
#include "optim/dense/state_layout.h"

namespace torch::optim {
class Optimizer;
class OptimizerParamState;
}  // namespace torch::optim

namespace millrace {

// The per-parameter state of one kind of optimizer. Each kind has one object, which lives as long
// as the process.
class TorchState {
 public:
  using ParamState = torch::optim::OptimizerParamState;

  virtual ~TorchState() = default;
  virtual const StateLayout& layout() const = 0;
  // Returns the fields in the order of the layout. Tensors are shared with `state`, counts copied.
  virtual std::vector<at::Tensor> read(const ParamState& state) const = 0;
  // Returns a new state of copies of `values`, in the order of the layout. REQUIRES: types and
  // shapes are as in the layout.
  virtual std::unique_ptr<ParamState> make(const std::vector<at::Tensor>& values) const = 0;
};

const TorchState& sgd_state(bool with_momentum);
const TorchState& adagrad_state();
const TorchState& adam_state();
const TorchState& adamw_state();

// Returns the result of DenseOptimizer::state(). `parameters`: the parameters of the optimizer, in
// the same order.
std::vector<NamedParameter> read_torch_state(const torch::optim::Optimizer& optimizer,
                                             const TorchState& kind,
                                             const std::vector<NamedParameter>& parameters);

// Replaces the state of all parameters by copies. REQUIRES: state_differences() is empty.
void write_torch_state(torch::optim::Optimizer& optimizer, const TorchState& kind,
                       const std::vector<NamedParameter>& parameters,
                       const std::vector<NamedParameter>& state);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_TORCH_STATE_H_
