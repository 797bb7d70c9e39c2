#include "optim/dense_optimizer_factory.h"

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "optim/dense/dense_optimizer_registry.h"
#include "optim/dense/optimizer_schedule.h"
#include "optim/name_pattern.h"

namespace millrace {
namespace {

using Parameters = std::vector<NamedParameter>;

// Returns the parameters of each configuration. Errors: as create_dense_optimizers().
absl::StatusOr<std::vector<Parameters>> deal_out(const std::vector<DenseOptimizerConfig>& configs,
                                                 const Parameters& parameters) {
  std::vector<std::string> patterns, names;
  for (const DenseOptimizerConfig& config : configs) patterns.push_back(config.pattern());
  std::vector<Parameters> dealt(configs.size());
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
  for (size_t i = 0; i < configs.size() && !parameters.empty(); ++i) {
    if (!dealt[i].empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat("optimizer pattern \"", patterns[i],
                                                   "\" gets no parameter",
                                                   did_you_mean(patterns[i], names)));
  }
  return dealt;
}

}  // namespace

absl::StatusOr<std::unique_ptr<DenseOptimizer>> create_dense_optimizer(
    const DenseOptimizerConfig& config, std::vector<NamedParameter> parameters,
    const ScheduleTotals& totals) {
  RETURN_IF_ERROR(check_dense_optimizer("dense optimizer", config));
  if (config.frozen()) {
    return absl::InvalidArgumentError("dense optimizer: frozen parameters have no optimizer");
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Schedule> schedule,
                   create_optimizer_schedule(config.schedule(), config.learning_rate(), totals));
  return dense_optimizer_registry().create(config, std::move(parameters), std::move(schedule));
}

absl::StatusOr<std::vector<std::unique_ptr<DenseOptimizer>>> create_dense_optimizers(
    const std::vector<DenseOptimizerConfig>& configs, const std::vector<NamedParameter>& parameters,
    const ScheduleTotals& totals) {
  ASSIGN_OR_RETURN(std::vector<Parameters> dealt, deal_out(configs, parameters));
  std::vector<std::unique_ptr<DenseOptimizer>> optimizers;
  for (size_t i = 0; i < configs.size(); ++i) {
    if (configs[i].frozen()) {
      RETURN_IF_ERROR(check_dense_optimizer("dense optimizer", configs[i]));
      for (const NamedParameter& parameter : dealt[i]) parameter.value.set_requires_grad(false);
      continue;
    }
    ASSIGN_OR_RETURN(std::unique_ptr<DenseOptimizer> optimizer,
                     create_dense_optimizer(configs[i], std::move(dealt[i]), totals));
    optimizers.push_back(std::move(optimizer));
  }
  return optimizers;
}

}  // namespace millrace
