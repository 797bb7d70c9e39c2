#include "framework/precision/precision_check.h"

#include <google/protobuf/util/message_differencer.h>

#include <cmath>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {

absl::Status check_precision(absl::string_view where, const PrecisionConfig& config) {
  FieldErrors errors;
  // A scale with the default values is accepted.
  const bool has_scale = !google::protobuf::util::MessageDifferencer::Equivalent(
      config.loss_scale(), LossScaleConfig());
  if (has_scale && config.compute() != PrecisionConfig::FLOAT16) {
    errors.add(wrong(where, "loss_scale does nothing without compute: FLOAT16"));
  }
  const LossScaleConfig& scale = config.loss_scale();
  const std::string place = absl::StrCat(where, ".loss_scale");
  const auto expect = [&](bool valid, absl::string_view field, double value,
                          absl::string_view rule) {
    if (!valid) errors.add(wrong_number(place, field, value, rule));
  };
  constexpr double kMax = std::numeric_limits<float>::max();
  constexpr double kMin = std::numeric_limits<float>::min();
  expect(scale.initial() >= kMin && scale.initial() <= kMax, "initial", scale.initial(),
         "a positive, normal number of float32");
  errors.add(at_least(place, "growth_interval", scale.growth_interval(), 1));
  expect(scale.growth_factor() > 1 && std::isfinite(scale.growth_factor()), "growth_factor",
         scale.growth_factor(), "above 1 and finite");
  expect(scale.backoff_factor() > 0 && scale.backoff_factor() < 1, "backoff_factor",
         scale.backoff_factor(), "above 0 and below 1");
  expect(scale.min() >= kMin && scale.min() <= scale.initial(), "min", scale.min(),
         "a positive, normal number of float32, at most initial");
  return errors.status();
}

}  // namespace millrace
