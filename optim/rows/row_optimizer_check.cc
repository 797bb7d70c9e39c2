#include "optim/rows/row_optimizer_check.h"

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/float_field_check.h"

namespace millrace {

absl::Status check_sparse_sgd(absl::string_view where, const SparseSgd& sgd) {
  return not_negative_float(where, "weight_decay", sgd.weight_decay());
}

absl::Status check_sparse_adagrad(absl::string_view where, const SparseAdagrad& adagrad) {
  return all_errors(
      {not_negative_float(where, "initial_accumulator", adagrad.initial_accumulator()),
       positive_float(where, "epsilon", adagrad.epsilon()),
       not_negative_float(where, "weight_decay", adagrad.weight_decay())});
}

absl::Status check_sparse_adam(absl::string_view where, const SparseAdam& adam) {
  return all_errors({below_one(where, "beta1", adam.beta1()),
                     below_one(where, "beta2", adam.beta2()),
                     positive_float(where, "epsilon", adam.epsilon()),
                     not_negative_float(where, "weight_decay", adam.weight_decay())});
}

absl::Status check_sparse_ftrl(absl::string_view where, const SparseFtrl& ftrl) {
  return all_errors({not_negative_float(where, "beta", ftrl.beta()),
                     not_negative_float(where, "l1", ftrl.l1()),
                     not_negative_float(where, "l2", ftrl.l2()),
                     not_negative_float(where, "initial_accumulator", ftrl.initial_accumulator())});
}

namespace {

absl::Status check_kind(absl::string_view where, const SparseOptimizerConfig& config) {
  const auto in = [&](absl::string_view kind) { return absl::StrCat(where, ".", kind); };
  switch (config.kind_case()) {
    case SparseOptimizerConfig::kCustom:
      return annotate(PartFamily::check("row optimizer", config.custom().name()), in("custom"));
    case SparseOptimizerConfig::kSgd: return check_sparse_sgd(in("sgd"), config.sgd());
    case SparseOptimizerConfig::kAdagrad:
      return check_sparse_adagrad(in("adagrad"), config.adagrad());
    case SparseOptimizerConfig::kRowwiseAdagrad:
      return check_sparse_adagrad(in("rowwise_adagrad"), config.rowwise_adagrad());
    case SparseOptimizerConfig::kAdam: return check_sparse_adam(in("adam"), config.adam());
    case SparseOptimizerConfig::kAdamw: return check_sparse_adam(in("adamw"), config.adamw());
    case SparseOptimizerConfig::kFtrl: return check_sparse_ftrl(in("ftrl"), config.ftrl());
    case SparseOptimizerConfig::KIND_NOT_SET: break;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config) {
  return all_errors({not_negative_float(where, "learning_rate", config.learning_rate()),
                     check_kind(where, config)});
}

}  // namespace millrace
