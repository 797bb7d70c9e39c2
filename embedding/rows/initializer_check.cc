#include "embedding/rows/initializer_check.h"

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/float_field_check.h"

namespace millrace {
namespace {

// Bounds in standard deviations that leave something of a normal distribution.

absl::Status check_uniform(absl::string_view where, const UniformInitializer& uniform) {
  RETURN_IF_ERROR(finite_float(where, "low", uniform.low()));
  RETURN_IF_ERROR(finite_float(where, "high", uniform.high()));
  if (uniform.low() <= uniform.high()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": low ", uniform.low(), " is above high ", uniform.high()));
}

absl::Status check_truncated(absl::string_view where, const TruncatedNormalInitializer& config) {
  RETURN_IF_ERROR(finite_float(where, "mean", config.mean()));
  RETURN_IF_ERROR(not_negative_float(where, "stddev", config.stddev()));
  RETURN_IF_ERROR(finite_float(where, "low", config.low()));
  RETURN_IF_ERROR(finite_float(where, "high", config.high()));
  if (config.low() >= kNormalTail) return wrong_number(where, "low", config.low(), "below 8");
  if (config.high() <= -kNormalTail) return wrong_number(where, "high", config.high(), "above -8");
  if (config.low() < config.high()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": low ", config.low(), " is not below high ", config.high()));
}

}  // namespace

absl::Status check_initializer(absl::string_view where, const InitializerConfig& config) {
  const auto in = [&](absl::string_view kind) { return absl::StrCat(where, ".", kind); };
  switch (config.kind_case()) {
    case InitializerConfig::kConstant:
      return finite_float(in("constant"), "value", config.constant().value());
    case InitializerConfig::kUniform: return check_uniform(in("uniform"), config.uniform());
    case InitializerConfig::kNormal:
      RETURN_IF_ERROR(finite_float(in("normal"), "mean", config.normal().mean()));
      return not_negative_float(in("normal"), "stddev", config.normal().stddev());
    case InitializerConfig::kTruncatedNormal:
      return check_truncated(in("truncated_normal"), config.truncated_normal());
    case InitializerConfig::kXavier:
      return not_negative_float(in("xavier"), "gain", config.xavier().gain());
    case InitializerConfig::kKaiming:
      return finite_float(in("kaiming"), "negative_slope", config.kaiming().negative_slope());
    case InitializerConfig::kCustom:
      return annotate(PartFamily::check("initializer", config.custom().name()), in("custom"));
    case InitializerConfig::KIND_NOT_SET: break;
  }
  return absl::OkStatus();
}

}  // namespace millrace
