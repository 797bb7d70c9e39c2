#include "proto/check/table_number_check.h"

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();
// Bounds in standard deviations that leave something of a normal distribution.
constexpr double kTail = 8;

absl::Status wrong(absl::string_view where, absl::string_view field, double value,
                   absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": ", field, " is ", value, "; must be ", rule));
}

absl::Status finite(absl::string_view where, absl::string_view field, double value) {
  if (std::fabs(value) <= kLargest) return absl::OkStatus();
  return wrong(where, field, value, "finite");
}

absl::Status not_negative(absl::string_view where, absl::string_view field, double value) {
  if (value >= 0 && value <= kLargest) return absl::OkStatus();
  return wrong(where, field, value, "at least 0 and finite");
}

absl::Status positive(absl::string_view where, absl::string_view field, double value) {
  if (value > 0 && value <= kLargest) return absl::OkStatus();
  return wrong(where, field, value, "greater than 0 and finite");
}

absl::Status below_one(absl::string_view where, absl::string_view field, double value) {
  if (value >= 0 && value < 1) return absl::OkStatus();
  return wrong(where, field, value, "at least 0 and below 1");
}

absl::Status check_uniform(absl::string_view where, const UniformInitializer& uniform) {
  RETURN_IF_ERROR(finite(where, "low", uniform.low()));
  RETURN_IF_ERROR(finite(where, "high", uniform.high()));
  if (uniform.low() <= uniform.high()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": low ", uniform.low(), " is above high ", uniform.high()));
}

absl::Status check_truncated(absl::string_view where, const TruncatedNormalInitializer& config) {
  RETURN_IF_ERROR(finite(where, "mean", config.mean()));
  RETURN_IF_ERROR(not_negative(where, "stddev", config.stddev()));
  RETURN_IF_ERROR(finite(where, "low", config.low()));
  RETURN_IF_ERROR(finite(where, "high", config.high()));
  if (config.low() >= kTail) return wrong(where, "low", config.low(), "below 8");
  if (config.high() <= -kTail) return wrong(where, "high", config.high(), "above -8");
  if (config.low() < config.high()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": low ", config.low(), " is not below high ", config.high()));
}

}  // namespace

absl::Status check_initializer(absl::string_view where, const InitializerConfig& config) {
  const auto in = [&](absl::string_view kind) { return absl::StrCat(where, ".", kind); };
  switch (config.kind_case()) {
    case InitializerConfig::kConstant:
      return finite(in("constant"), "value", config.constant().value());
    case InitializerConfig::kUniform: return check_uniform(in("uniform"), config.uniform());
    case InitializerConfig::kNormal:
      RETURN_IF_ERROR(finite(in("normal"), "mean", config.normal().mean()));
      return not_negative(in("normal"), "stddev", config.normal().stddev());
    case InitializerConfig::kTruncatedNormal:
      return check_truncated(in("truncated_normal"), config.truncated_normal());
    case InitializerConfig::kXavier:
      return not_negative(in("xavier"), "gain", config.xavier().gain());
    case InitializerConfig::kKaiming:
      return finite(in("kaiming"), "negative_slope", config.kaiming().negative_slope());
    case InitializerConfig::KIND_NOT_SET: break;
  }
  return absl::OkStatus();
}

absl::Status check_sparse_sgd(absl::string_view where, const SparseSgd& sgd) {
  return not_negative(where, "weight_decay", sgd.weight_decay());
}

absl::Status check_sparse_adagrad(absl::string_view where, const SparseAdagrad& adagrad) {
  RETURN_IF_ERROR(not_negative(where, "initial_accumulator", adagrad.initial_accumulator()));
  RETURN_IF_ERROR(positive(where, "epsilon", adagrad.epsilon()));
  return not_negative(where, "weight_decay", adagrad.weight_decay());
}

absl::Status check_sparse_adam(absl::string_view where, const SparseAdam& adam) {
  RETURN_IF_ERROR(below_one(where, "beta1", adam.beta1()));
  RETURN_IF_ERROR(below_one(where, "beta2", adam.beta2()));
  RETURN_IF_ERROR(positive(where, "epsilon", adam.epsilon()));
  return not_negative(where, "weight_decay", adam.weight_decay());
}

absl::Status check_sparse_ftrl(absl::string_view where, const SparseFtrl& ftrl) {
  RETURN_IF_ERROR(not_negative(where, "beta", ftrl.beta()));
  RETURN_IF_ERROR(not_negative(where, "l1", ftrl.l1()));
  RETURN_IF_ERROR(not_negative(where, "l2", ftrl.l2()));
  return not_negative(where, "initial_accumulator", ftrl.initial_accumulator());
}

absl::Status check_sparse_optimizer(absl::string_view where, const SparseOptimizerConfig& config) {
  const auto in = [&](absl::string_view kind) { return absl::StrCat(where, ".", kind); };
  RETURN_IF_ERROR(not_negative(where, "learning_rate", config.learning_rate()));
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
