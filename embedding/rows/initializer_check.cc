#include "embedding/rows/initializer_check.h"

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

absl::Status check_uniform(absl::string_view where, const UniformInitializer& uniform) {
  if (uniform.low() <= uniform.high()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": low ", uniform.low(), " is above high ", uniform.high()));
}

// Checks that the bounds leave something of the normal distribution.
absl::Status check_truncated(absl::string_view where, const TruncatedNormalInitializer& config) {
  if (config.low() >= kNormalTail) return wrong_number(where, "low", config.low(), "below 8");
  if (config.high() <= -kNormalTail) return wrong_number(where, "high", config.high(), "above -8");
  if (config.low() < config.high()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(where, ": low ", config.low(), " is not below high ", config.high()));
}

}  // namespace

absl::Status check_initializer(absl::string_view where, const InitializerConfig& config) {
  const auto in = [&](absl::string_view kind) { return absl::StrCat(where, ".", kind); };
  RETURN_IF_ERROR(check_ranges(where, config));
  if (config.has_uniform()) return check_uniform(in("uniform"), config.uniform());
  if (config.has_truncated_normal()) {
    return check_truncated(in("truncated_normal"), config.truncated_normal());
  }
  if (config.has_custom()) {
    return annotate(PartFamily::check("initializer", config.custom().name()), in("custom"));
  }
  return absl::OkStatus();
}

}  // namespace millrace
