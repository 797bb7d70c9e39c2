#include "optim/dense_optimizer.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "optim/dense_optimizer_check.h"
#include "optim/name_pattern.h"
#include "optim/optimizer_schedule.h"
#include "optim/torch_state.h"

namespace millrace {
namespace {

class TorchOptimizer : public DenseOptimizer {
 public:
  TorchOptimizer(std::unique_ptr<torch::optim::Optimizer> optimizer, const TorchState& kind,
                 std::vector<std::string> names, std::unique_ptr<Schedule> schedule)
      : optimizer_(std::move(optimizer)),
        kind_(kind),
        names_(std::move(names)),
        schedule_(std::move(schedule)) {}

  absl::Status step(const Progress& progress) override {
    return catch_exceptions("dense optimizer", [this, &progress] {
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
  const std::vector<std::string>& parameters() const override { return names_; }
  std::vector<NamedParameter> state() const override {
    return read_torch_state(*optimizer_, kind_, names_);
  }
  std::vector<std::string> state_differences(
      const std::vector<NamedParameter>& state) const override {
    return torch_state_differences(*optimizer_, kind_, names_, state);
  }
  absl::Status load_state(const std::vector<NamedParameter>& state) override {
    const std::vector<std::string> differences = state_differences(state);
    if (!differences.empty()) return absl::InvalidArgumentError(absl::StrJoin(differences, "; "));
    write_torch_state(*optimizer_, kind_, names_, state);
    return absl::OkStatus();
  }

 private:
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  const TorchState& kind_;
  std::vector<std::string> names_;
  std::unique_ptr<Schedule> schedule_;
};

using Parameters = std::vector<at::Tensor>;
using Optimizer = std::unique_ptr<torch::optim::Optimizer>;

const TorchState& state_kind(const DenseOptimizerConfig& config) {
  switch (config.kind_case()) {
    case DenseOptimizerConfig::kSgd: return sgd_state(config.sgd().momentum() != 0);
    case DenseOptimizerConfig::kAdagrad: return adagrad_state();
    case DenseOptimizerConfig::kAdamw: return adamw_state();
    default: return adam_state();
  }
}

Optimizer create_sgd(const Sgd& config, double rate, Parameters parameters) {
  return std::make_unique<torch::optim::SGD>(std::move(parameters),
                                             torch::optim::SGDOptions(rate)
                                                 .momentum(config.momentum())
                                                 .weight_decay(config.weight_decay())
                                                 .nesterov(config.nesterov()));
}

Optimizer create_adagrad(const Adagrad& config, double rate, Parameters parameters) {
  return std::make_unique<torch::optim::Adagrad>(
      std::move(parameters), torch::optim::AdagradOptions(rate)
                                 .lr_decay(config.lr_decay())
                                 .weight_decay(config.weight_decay())
                                 .initial_accumulator_value(config.initial_accumulator())
                                 .eps(config.epsilon()));
}

// Torch is torch::optim::Adam or AdamW, whose options have the same names.
template <typename Torch, typename Options>
Optimizer create_adam(const Adam& config, double rate, Parameters parameters) {
  return std::make_unique<Torch>(std::move(parameters),
                                 Options(rate)
                                     .betas(std::make_tuple(config.beta1(), config.beta2()))
                                     .eps(config.epsilon())
                                     .weight_decay(config.weight_decay()));
}

Optimizer create_torch_optimizer(const DenseOptimizerConfig& config, Parameters parameters) {
  const double rate = config.learning_rate();
  switch (config.kind_case()) {
    case DenseOptimizerConfig::kSgd: return create_sgd(config.sgd(), rate, std::move(parameters));
    case DenseOptimizerConfig::kAdagrad:
      return create_adagrad(config.adagrad(), rate, std::move(parameters));
    case DenseOptimizerConfig::kAdamw:
      return create_adam<torch::optim::AdamW, torch::optim::AdamWOptions>(config.adamw(), rate,
                                                                          std::move(parameters));
    default: break;
  }
  return create_adam<torch::optim::Adam, torch::optim::AdamOptions>(config.adam(), rate,
                                                                    std::move(parameters));
}

}  // namespace

absl::StatusOr<std::unique_ptr<DenseOptimizer>> create_dense_optimizer(
    const DenseOptimizerConfig& config, std::vector<NamedParameter> parameters,
    const ScheduleTotals& totals) {
  std::vector<std::string> names;
  Parameters values;
  for (NamedParameter& parameter : parameters) {
    names.push_back(std::move(parameter.name));
    values.push_back(std::move(parameter.value));
  }
  RETURN_IF_ERROR(check_dense_optimizer("dense optimizer", config));
  ASSIGN_OR_RETURN(std::unique_ptr<Schedule> schedule, create_optimizer_schedule(config, totals));
  std::unique_ptr<torch::optim::Optimizer> optimizer =
      create_torch_optimizer(config, std::move(values));
  return std::make_unique<TorchOptimizer>(std::move(optimizer), state_kind(config),
                                          std::move(names), std::move(schedule));
}

absl::StatusOr<std::vector<std::unique_ptr<DenseOptimizer>>> create_dense_optimizers(
    const std::vector<DenseOptimizerConfig>& configs, const std::vector<NamedParameter>& parameters,
    const ScheduleTotals& totals) {
  std::vector<std::string> patterns, names;
  for (const DenseOptimizerConfig& config : configs) patterns.push_back(config.pattern());
  std::vector<std::vector<NamedParameter>> dealt(configs.size());
  for (const NamedParameter& parameter : parameters) {
    names.push_back(parameter.name);
    size_t i = 0;
    while (i < configs.size() && !matches_pattern(parameter.name, patterns[i])) ++i;
    if (i == configs.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("no optimizer's pattern matches the parameter \"", parameter.name,
                       "\"; patterns: \"", absl::StrJoin(patterns, "\", \""), "\""));
    }
    dealt[i].push_back(parameter);
  }
  std::vector<std::unique_ptr<DenseOptimizer>> optimizers;
  for (size_t i = 0; i < configs.size(); ++i) {
    if (dealt[i].empty() && !parameters.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("optimizer pattern \"", patterns[i],
                                                     "\" gets no parameter",
                                                     did_you_mean(patterns[i], names)));
    }
    ASSIGN_OR_RETURN(std::unique_ptr<DenseOptimizer> optimizer,
                     create_dense_optimizer(configs[i], std::move(dealt[i]), totals));
    optimizers.push_back(std::move(optimizer));
  }
  return optimizers;
}

}  // namespace millrace
