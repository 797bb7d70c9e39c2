#include "optim/dense_optimizer_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

absl::Status check_sgd(const std::string& where, const Sgd& sgd) {
  const bool has_momentum = !sgd.nesterov() || sgd.momentum() != 0;
  return all_errors(
      {not_negative(where, "momentum", sgd.momentum()),
       not_negative(where, "weight_decay", sgd.weight_decay()),
       has_momentum ? absl::OkStatus() : wrong(where, "nesterov needs a momentum above 0")});
}

absl::Status check_adagrad(const std::string& where, const Adagrad& adagrad) {
  return all_errors({not_negative(where, "lr_decay", adagrad.lr_decay()),
                     not_negative(where, "weight_decay", adagrad.weight_decay()),
                     not_negative(where, "initial_accumulator", adagrad.initial_accumulator()),
                     positive(where, "epsilon", adagrad.epsilon())});
}

absl::Status check_rmsprop(const std::string& where, const Rmsprop& rmsprop) {
  return all_errors({below_one(where, "alpha", rmsprop.alpha()),
                     positive(where, "epsilon", rmsprop.epsilon()),
                     not_negative(where, "weight_decay", rmsprop.weight_decay()),
                     not_negative(where, "momentum", rmsprop.momentum())});
}

// Kind is Adam or Lamb, which have these numbers in common.
template <typename Kind>
absl::Status check_adam(const std::string& where, const Kind& adam) {
  return all_errors({below_one(where, "beta1", adam.beta1()),
                     below_one(where, "beta2", adam.beta2()),
                     positive(where, "epsilon", adam.epsilon()),
                     not_negative(where, "weight_decay", adam.weight_decay())});
}

absl::Status check_lamb(const std::string& where, const Lamb& lamb) {
  return all_errors(
      {check_adam(where, lamb), not_negative(where, "max_weight_norm", lamb.max_weight_norm())});
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

absl::Status check_kind(absl::string_view where, const DenseOptimizerConfig& config) {
  const auto in = [&](absl::string_view kind) { return absl::StrCat(where, ".", kind); };
  switch (config.kind_case()) {
    case DenseOptimizerConfig::kSgd: return check_sgd(in("sgd"), config.sgd());
    case DenseOptimizerConfig::kAdagrad: return check_adagrad(in("adagrad"), config.adagrad());
    case DenseOptimizerConfig::kAdam: return check_adam(in("adam"), config.adam());
    case DenseOptimizerConfig::kAdamw: return check_adam(in("adamw"), config.adamw());
    case DenseOptimizerConfig::kAdamwTf: return check_adam(in("adamw_tf"), config.adamw_tf());
    case DenseOptimizerConfig::kRmsprop: return check_rmsprop(in("rmsprop"), config.rmsprop());
    case DenseOptimizerConfig::kLamb: return check_lamb(in("lamb"), config.lamb());
    case DenseOptimizerConfig::kCustom:
      return annotate(PartFamily::check("dense optimizer", config.custom().name()), in("custom"));
    case DenseOptimizerConfig::KIND_NOT_SET: break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_dense_optimizer(absl::string_view where, const DenseOptimizerConfig& config) {
  return all_errors({not_negative(where, "learning_rate", config.learning_rate()),
                     config.frozen() ? check_frozen(where, config) : check_kind(where, config)});
}

}  // namespace millrace
