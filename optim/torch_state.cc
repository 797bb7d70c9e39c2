#include "optim/torch_state.h"

#include <ATen/ATen.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <map>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/text.h"

namespace millrace {
namespace {

// Calls visit(name, value) with each part of a state; values are tensors or int64_t.
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

// State is torch::optim::SGDParamState, …
template <typename State>
class StateOf : public TorchState {
 public:
  explicit StateOf(bool always_there = false) : always_there_(always_there) {
    State state;
    visit_parts(state, [this](const char* name, auto& value) {
      names_.emplace_back(name);
      counts_.push_back(std::is_same_v<std::decay_t<decltype(value)>, int64_t>);
    });
  }

  const std::vector<std::string>& names() const override { return names_; }
  bool always_there() const override { return always_there_; }
  bool is_count(size_t i) const override { return counts_[i]; }

  std::vector<at::Tensor> read(const ParamState& state) const override {
    std::vector<at::Tensor> values;
    // visit_parts wants to be able to write; here it does not.
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

  const bool always_there_;
  std::vector<std::string> names_;
  std::vector<bool> counts_;
};

// SGD without momentum keeps nothing.
class NoState : public TorchState {
 public:
  const std::vector<std::string>& names() const override { return names_; }
  bool is_count(size_t) const override { return false; }
  std::vector<at::Tensor> read(const ParamState&) const override { return {}; }
  std::unique_ptr<ParamState> make(const std::vector<at::Tensor>&) const override {
    return nullptr;
  }

 private:
  const std::vector<std::string> names_;
};

const std::vector<at::Tensor>& parameters_of(const torch::optim::Optimizer& optimizer) {
  return optimizer.param_groups()[0].params();
}

using ByName = std::map<std::string, const at::Tensor*>;

// How a value differs from what a parameter's should be, if it does.
void compare(const std::string& name, const at::Tensor& value, const at::Tensor& expected,
             std::vector<std::string>* differences) {
  if (value.defined() && value.scalar_type() == expected.scalar_type() &&
      value.sizes() == expected.sizes()) {
    return;
  }
  differences->push_back(absl::StrCat("optimizer state \"", name, "\" is ", describe(value),
                                      "; it must be ", describe(expected)));
}

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
                                             const std::vector<std::string>& names) {
  std::vector<NamedParameter> all;
  const std::vector<at::Tensor>& parameters = parameters_of(optimizer);
  for (size_t p = 0; p < names.size(); ++p) {
    const auto found = optimizer.state().find(parameters[p].unsafeGetTensorImpl());
    if (found == optimizer.state().end()) continue;
    const std::vector<at::Tensor> values = kind.read(*found->second);
    for (size_t i = 0; i < values.size(); ++i) {
      all.push_back({absl::StrCat(names[p], "/", kind.names()[i]), values[i]});
    }
  }
  return all;
}

std::vector<std::string> torch_state_differences(const torch::optim::Optimizer& optimizer,
                                                 const TorchState& kind,
                                                 const std::vector<std::string>& names,
                                                 const std::vector<NamedParameter>& state) {
  std::vector<std::string> differences;
  ByName left;
  for (const NamedParameter& one : state) {
    if (left.emplace(one.name, &one.value).second) continue;
    differences.push_back(absl::StrCat("optimizer state \"", one.name, "\" is there twice"));
  }
  const std::vector<at::Tensor>& parameters = parameters_of(optimizer);
  const at::Tensor count = at::zeros({}, at::kLong);
  std::vector<std::string> known;
  for (size_t p = 0; p < names.size(); ++p) {
    std::vector<std::string> missing;
    for (size_t i = 0; i < kind.names().size(); ++i) {
      known.push_back(absl::StrCat(names[p], "/", kind.names()[i]));
      const auto found = left.find(known.back());
      if (found == left.end()) {
        missing.push_back(known.back());
        continue;
      }
      compare(known.back(), *found->second, kind.is_count(i) ? count : parameters[p], &differences);
      left.erase(found);
    }
    if (missing.size() == kind.names().size() && !kind.always_there()) continue;
    for (const std::string& name : missing) {
      differences.push_back(absl::StrCat("optimizer state \"", name, "\" is missing"));
    }
  }
  for (const auto& [name, value] : left) {
    differences.push_back(absl::StrCat(
        "optimizer state \"", name, "\" is not one of this optimizer", did_you_mean(name, known)));
  }
  return differences;
}

void write_torch_state(torch::optim::Optimizer& optimizer, const TorchState& kind,
                       const std::vector<std::string>& names,
                       const std::vector<NamedParameter>& state) {
  ByName by_name;
  for (const NamedParameter& one : state) by_name.emplace(one.name, &one.value);
  const std::vector<at::Tensor>& parameters = parameters_of(optimizer);
  optimizer.state().clear();
  for (size_t p = 0; p < names.size(); ++p) {
    std::vector<at::Tensor> values;
    for (const std::string& name : kind.names()) {
      const auto found = by_name.find(absl::StrCat(names[p], "/", name));
      if (found != by_name.end()) values.push_back(*found->second);
    }
    if (values.empty()) continue;
    optimizer.state()[parameters[p].unsafeGetTensorImpl()] = kind.make(values);
  }
}

}  // namespace millrace
