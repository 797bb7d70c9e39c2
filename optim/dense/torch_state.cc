#include "optim/dense/torch_state.h"

#include <ATen/ATen.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

// Calls visit(name, value) for each field of a state; values are tensors or int64_t.
template <typename Visit>
void visit_parts(torch::optim::SGDParamState& state, const Visit& visit) {
  visit("momentum_buffer", state.momentum_buffer());
}
template <typename Visit>
void visit_parts(torch::optim::AdagradParamState& state, const Visit& visit) {
  visit("step", state.step());
  visit("sum", state.sum());
}
template <typename AdamState, typename Visit>
void visit_parts(AdamState& state, const Visit& visit) {
  visit("step", state.step());
  visit("exp_avg", state.exp_avg());
  visit("exp_avg_sq", state.exp_avg_sq());
}

// `State`: torch::optim::SGDParamState, …
template <typename State>
class StateOf : public TorchState {
 public:
  explicit StateOf(bool always_there = false) {
    layout_.always_there = always_there;
    State state;
    visit_parts(state, [this](const char* name, auto& value) {
      layout_.fields.push_back({name, std::is_same_v<std::decay_t<decltype(value)>, int64_t>});
    });
  }

  const StateLayout& layout() const override { return layout_; }

  std::vector<at::Tensor> read(const ParamState& state) const override {
    std::vector<at::Tensor> values;
    // visit_parts() needs a mutable state, but this caller only reads.
    auto& own = const_cast<State&>(static_cast<const State&>(state));
    visit_parts(own, [&](const char*, auto& value) { values.push_back(as_tensor(value)); });
    return values;
  }

  std::unique_ptr<ParamState> make(const std::vector<at::Tensor>& values) const override {
    auto state = std::make_unique<State>();
    size_t next = 0;
    visit_parts(*state, [&](const char*, auto& value) { assign(values[next++], value); });
    return state;
  }

 private:
  static at::Tensor as_tensor(const at::Tensor& value) { return value; }
  static at::Tensor as_tensor(int64_t value) { return at::scalar_tensor(value, at::kLong); }
  static void assign(const at::Tensor& from, at::Tensor& to) { to = from.detach().clone(); }
  static void assign(const at::Tensor& from, int64_t& to) { to = from.item<int64_t>(); }

  StateLayout layout_;
};

// SGD without momentum keeps nothing.
class NoState : public TorchState {
 public:
  const StateLayout& layout() const override { return layout_; }
  std::vector<at::Tensor> read(const ParamState&) const override { return {}; }
  std::unique_ptr<ParamState> make(const std::vector<at::Tensor>&) const override {
    return nullptr;
  }

 private:
  const StateLayout layout_;
};

}  // namespace

const TorchState& sgd_state(bool with_momentum) {
  static const StateOf<torch::optim::SGDParamState>* const kMomentum =
      new StateOf<torch::optim::SGDParamState>;
  static const NoState* const kNone = new NoState;
  if (with_momentum) return *kMomentum;
  return *kNone;
}

const TorchState& adagrad_state() {
  static const auto* const kState =
      new StateOf<torch::optim::AdagradParamState>(/*always_there=*/true);
  return *kState;
}

const TorchState& adam_state() {
  static const auto* const kState = new StateOf<torch::optim::AdamParamState>;
  return *kState;
}

const TorchState& adamw_state() {
  static const auto* const kState = new StateOf<torch::optim::AdamWParamState>;
  return *kState;
}

std::vector<NamedParameter> read_torch_state(const torch::optim::Optimizer& optimizer,
                                             const TorchState& kind,
                                             const std::vector<NamedParameter>& parameters) {
  std::vector<NamedParameter> all;
  const std::vector<StateLayout::Field>& fields = kind.layout().fields;
  for (const NamedParameter& parameter : parameters) {
    const auto found = optimizer.state().find(parameter.value.unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    const std::vector<at::Tensor> values = kind.read(*found->second);
    for (size_t i = 0; i < values.size(); ++i) {
      all.push_back({absl::StrCat(parameter.name, "/", fields[i].name), values[i]});
    }
  }
  return all;
}

void write_torch_state(torch::optim::Optimizer& optimizer, const TorchState& kind,
                       const std::vector<NamedParameter>& parameters,
                       const std::vector<NamedParameter>& state) {
  const auto dealt = deal_out_state(kind.layout(), parameters, state);
  optimizer.state().clear();
  for (size_t p = 0; p < parameters.size(); ++p) {
    if (dealt[p].empty()) continue;
    optimizer.state()[parameters[p].value.unsafeGetTensorImpl()] = kind.make(dealt[p]);
  }
}

}  // namespace millrace
