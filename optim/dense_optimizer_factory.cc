#include "optim/dense_optimizer_factory.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "optim/dense/dense_optimizer_table.h"
#include "optim/dense/optimizer_schedule.h"
#include "optim/dense_optimizer_check.h"
#include "optim/name_pattern.h"

namespace millrace {
namespace {

using Parameters = std::vector<NamedParameter>;

const DenseOptimizerMember& member_of(const DenseOptimizerConfig& config) {
  const bool is_default = config.kind_case() == DenseOptimizerConfig::KIND_NOT_SET;
  const auto kind = is_default ? DenseOptimizerConfig::kAdam : config.kind_case();
  const auto table = dense_optimizer_table();
  const auto found =
      std::find_if(table.begin(), table.end(),
                   [kind](const DenseOptimizerMember& member) { return member.kind == kind; });
  MILLRACE_CHECK(found != table.end()) << "dense optimizer of kind " << kind;
  return *found;
}

// Returns the parameters of each configuration. Errors: those of create_dense_optimizers().
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
  return member_of(config).create(config, std::move(parameters), std::move(schedule));
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
