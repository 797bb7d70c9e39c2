#include "optim/rows/row_optimizer_check.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/float_field_check.h"

namespace millrace {

absl::Status check_sparse_sgd(absl::string_view where, const SparseSgd& sgd) {
  return not_negative_float(where, "weight_decay", sgd.weight_decay());
}

absl::Status check_sparse_adagrad(absl::string_view where, const SparseAdagrad& adagrad) {
  RETURN_IF_ERROR(not_negative_float(where, "initial_accumulator", adagrad.initial_accumulator()));
  RETURN_IF_ERROR(positive_float(where, "epsilon", adagrad.epsilon()));
  return not_negative_float(where, "weight_decay", adagrad.weight_decay());
}

absl::Status check_sparse_adam(absl::string_view where, const SparseAdam& adam) {
  RETURN_IF_ERROR(below_one(where, "beta1", adam.beta1()));
  RETURN_IF_ERROR(below_one(where, "beta2", adam.beta2()));
  RETURN_IF_ERROR(positive_float(where, "epsilon", adam.epsilon()));
  return not_negative_float(where, "weight_decay", adam.weight_decay());
}

absl::Status check_sparse_ftrl(absl::string_view where, const SparseFtrl& ftrl) {
  RETURN_IF_ERROR(not_negative_float(where, "beta", ftrl.beta()));
  RETURN_IF_ERROR(not_negative_float(where, "l1", ftrl.l1()));
  RETURN_IF_ERROR(not_negative_float(where, "l2", ftrl.l2()));
  return not_negative_float(where, "initial_accumulator", ftrl.initial_accumulator());
}

absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config) {
  const auto in = [&](absl::string_view kind) { return absl::StrCat(where, ".", kind); };
  RETURN_IF_ERROR(not_negative_float(where, "learning_rate", config.learning_rate()));
  switch (config.kind_case()) {
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

}  // namespace millrace
