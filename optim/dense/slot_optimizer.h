// Base of dense optimizers that LibTorch does not have.
#ifndef MILLRACE_OPTIM_DENSE_SLOT_OPTIMIZER_H_
#define MILLRACE_OPTIM_DENSE_SLOT_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/dense/named_parameter.h"
#include "optim/dense/state_layout.h"
#include "optim/schedule/schedule.h"

namespace millrace {

// Keeps named tensors ("slots") and a count of updates for each parameter; the derived class
// implements the formula of one update. Slots begin with zeros at the first gradient of a parameter
// and have its type, shape and device. State is "<parameter>/step" and "<parameter>/<slot>".
class SlotOptimizer : public DenseOptimizer {
 public:
  absl::Status step(const Progress& progress) final;
  void zero_grad() final;
  double learning_rate(const Progress& progress) const final;
  Schedule* schedule() final { return schedule_.get(); }
  const std::vector<std::string>& parameters() const final { return names_; }
  std::vector<NamedParameter> state() const final;
  std::vector<std::string> state_differences(const std::vector<NamedParameter>& state) const final;
  absl::Status load_state(const std::vector<NamedParameter>& state) final;

 protected:
  // One update of one parameter.
  struct Update {
    at::Tensor gradient;
    absl::Span<at::Tensor> slots;  // in the order of the names given to the constructor
    int64_t step = 0;              // updates of this parameter including this one, from 1
    double rate = 0;
  };

  SlotOptimizer(const std::vector<std::string>& slots, std::vector<NamedParameter> parameters,
                std::unique_ptr<Schedule> schedule);

 private:
  // Changes `weight` and the slots. Called for each parameter that has a gradient, with gradient
  // mode off. May throw c10::Error, which step() returns as Internal.
  virtual void update(const Update& update, at::Tensor& weight) const = 0;

  // The state of a parameter; without slots before its first gradient.
  struct State {
    int64_t step = 0;
    std::vector<at::Tensor> slots;
  };

  StateLayout layout_;  // the count of updates, then the slots
  std::vector<NamedParameter> parameters_;
  std::vector<std::string> names_;
  std::vector<State> states_;  // one per parameter
  std::unique_ptr<Schedule> schedule_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_SLOT_OPTIMIZER_H_
