#include "optim/dense/dense_optimizer_registry.h"

#include "absl/strings/str_cat.h"
#include "optim/dense/slot_optimizer_kinds.h"
#include "optim/dense/torch_optimizer.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

absl::Status check_sgd(absl::string_view where, const DenseOptimizerConfig& config) {
  if (!config.sgd().nesterov() || config.sgd().momentum() != 0) return absl::OkStatus();
  return wrong(where, "nesterov needs a momentum above 0");
}

absl::Status check_frozen(absl::string_view where, const DenseOptimizerConfig& config) {
  const bool has_kind = config.kind_case() != DenseOptimizerConfig::KIND_NOT_SET;
  const bool has_schedule = config.schedule().kind_case() != ScheduleConfig::KIND_NOT_SET;
  const bool has_rate = config.learning_rate() != DenseOptimizerConfig().learning_rate();
  if (!has_kind && !has_schedule && !has_rate) return absl::OkStatus();
  const char* field = has_kind ? "a kind" : has_schedule ? "schedule" : "learning_rate";
  return wrong(where, absl::StrCat("its parameters are frozen: ", field,
                                   " would do nothing; remove it or frozen"));
}

std::vector<DenseOptimizerRegistry::Kind> dense_optimizer_kinds() {
  return {
      {DenseOptimizerConfig::kSgd, &create_sgd, &check_sgd},
      {DenseOptimizerConfig::kAdagrad, &create_adagrad},
      {DenseOptimizerConfig::kAdam, &create_adam},
      {DenseOptimizerConfig::kAdamw, &create_adamw},
      {DenseOptimizerConfig::kAdamwTf, &AdamwTfOptimizer::create},
      {DenseOptimizerConfig::kRmsprop, &RmspropOptimizer::create},
      {DenseOptimizerConfig::kLamb, &LambOptimizer::create},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(dense_optimizer, DenseOptimizerRegistry, "dense optimizer",
                     "optimizer { custom { name: \"NAME\" } }", "kind", dense_optimizer_kinds(),
                     DenseOptimizerConfig::kAdam);

absl::Status check_dense_optimizer(absl::string_view where, const DenseOptimizerConfig& config) {
  return all_errors({check_ranges(where, config),
                     config.frozen() ? check_frozen(where, config)
                                     : dense_optimizer_registry().check(where, config)});
}

}  // namespace millrace
