#include "optim/dense/torch_optimizer.h"

#include <ATen/ATen.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "optim/dense/state_layout.h"

namespace millrace {
namespace {

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

// The state of SGD without momentum, which has no fields.
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

// Returns the result of DenseOptimizer::state(). `parameters`: the parameters of the optimizer, in
// the same order.
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

// Replaces the state of all parameters by copies. REQUIRES: state_differences() is empty.
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

// Wraps an optimizer of LibTorch: sets the rate before each step and names the state.
class TorchOptimizer : public DenseOptimizer {
 public:
  // REQUIRES: `parameters` are the parameters of `optimizer`, in the same order.
  TorchOptimizer(std::unique_ptr<torch::optim::Optimizer> optimizer, const TorchState& kind,
                 std::vector<NamedParameter> parameters, std::unique_ptr<Schedule> schedule)
      : optimizer_(std::move(optimizer)),
        kind_(kind),
        parameters_(std::move(parameters)),
        schedule_(std::move(schedule)) {
    for (const NamedParameter& parameter : parameters_) names_.push_back(parameter.name);
  }

  absl::Status step(const Progress& progress) override {
    return catch_part_exceptions("dense optimizer", [&] {
      const double rate = schedule_->rate(progress);
      for (torch::optim::OptimizerParamGroup& group : optimizer_->param_groups()) {
        group.options().set_lr(rate);
      }
      optimizer_->step();
      return absl::OkStatus();
    });
  }
  void zero_grad() override { optimizer_->zero_grad(); }
  double learning_rate(const Progress& progress) const override {
    return schedule_->rate(progress);
  }
  Schedule* schedule() override { return schedule_.get(); }
  const std::vector<std::string>& parameters() const override { return names_; }
  std::vector<NamedParameter> state() const override {
    return read_torch_state(*optimizer_, kind_, parameters_);
  }
  std::vector<std::string> state_differences(
      const std::vector<NamedParameter>& state) const override {
    return millrace::state_differences(kind_.layout(), parameters_, state);
  }
  absl::Status load_state(const std::vector<NamedParameter>& state) override {
    const std::vector<std::string> differences = state_differences(state);
    if (!differences.empty()) return absl::InvalidArgumentError(absl::StrJoin(differences, "; "));
    write_torch_state(*optimizer_, kind_, parameters_, state);
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  const TorchState& kind_;
  std::vector<NamedParameter> parameters_;
  std::vector<std::string> names_;
  std::unique_ptr<Schedule> schedule_;
};

// Wraps a Torch, an optimizer of LibTorch, with these options.
template <typename Torch, typename Options>
std::unique_ptr<DenseOptimizer> wrap(const Options& options, const TorchState& state,
                                     std::vector<NamedParameter> parameters,
                                     std::unique_ptr<Schedule> schedule) {
  std::vector<at::Tensor> values;
  values.reserve(parameters.size());
  for (const NamedParameter& parameter : parameters) values.push_back(parameter.value);
  return std::make_unique<TorchOptimizer>(std::make_unique<Torch>(std::move(values), options),
                                          state, std::move(parameters), std::move(schedule));
}

// `Options`: AdamOptions or AdamWOptions, which have the same members.
template <typename Options>
Options adam_options(const Adam& config, double rate) {
  return Options(rate)
      .betas(std::make_tuple(config.beta1(), config.beta2()))
      .eps(config.epsilon())
      .weight_decay(config.weight_decay());
}

}  // namespace

std::unique_ptr<DenseOptimizer> create_sgd(const DenseOptimizerConfig& config,
                                           std::vector<NamedParameter> parameters,
                                           std::unique_ptr<Schedule> schedule) {
  const Sgd& sgd = config.sgd();
  return wrap<torch::optim::SGD>(torch::optim::SGDOptions(config.learning_rate())
                                     .momentum(sgd.momentum())
                                     .weight_decay(sgd.weight_decay())
                                     .nesterov(sgd.nesterov()),
                                 sgd_state(sgd.momentum() != 0), std::move(parameters),
                                 std::move(schedule));
}

std::unique_ptr<DenseOptimizer> create_adagrad(const DenseOptimizerConfig& config,
                                               std::vector<NamedParameter> parameters,
                                               std::unique_ptr<Schedule> schedule) {
  const Adagrad& adagrad = config.adagrad();
  return wrap<torch::optim::Adagrad>(torch::optim::AdagradOptions(config.learning_rate())
                                         .lr_decay(adagrad.lr_decay())
                                         .weight_decay(adagrad.weight_decay())
                                         .initial_accumulator_value(adagrad.initial_accumulator())
                                         .eps(adagrad.epsilon()),
                                     adagrad_state(), std::move(parameters), std::move(schedule));
}

std::unique_ptr<DenseOptimizer> create_adam(const DenseOptimizerConfig& config,
                                            std::vector<NamedParameter> parameters,
                                            std::unique_ptr<Schedule> schedule) {
  return wrap<torch::optim::Adam>(
      adam_options<torch::optim::AdamOptions>(config.adam(), config.learning_rate()), adam_state(),
      std::move(parameters), std::move(schedule));
}

std::unique_ptr<DenseOptimizer> create_adamw(const DenseOptimizerConfig& config,
                                             std::vector<NamedParameter> parameters,
                                             std::unique_ptr<Schedule> schedule) {
  return wrap<torch::optim::AdamW>(
      adam_options<torch::optim::AdamWOptions>(config.adamw(), config.learning_rate()),
      adamw_state(), std::move(parameters), std::move(schedule));
}

}  // namespace millrace
