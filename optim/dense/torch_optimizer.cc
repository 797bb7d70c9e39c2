#include "optim/dense/torch_optimizer.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "optim/dense/torch_state.h"

namespace millrace {
namespace {

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
