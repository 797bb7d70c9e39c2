#include "framework/precision/precision_check.h"

#include <google/protobuf/util/message_differencer.h>

#include <limits>

#include "absl/strings/str_cat.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {

absl::Status check_precision(absl::string_view where, const PrecisionConfig& config) {
  FieldErrors errors;
  // A scale with the default values is accepted.
  const bool has_scale = !google::protobuf::util::MessageDifferencer::Equivalent(
      config.loss_scale(), LossScaleConfig());
  if (has_scale && config.compute() != PrecisionConfig::FLOAT16) {
    errors.add(wrong(where, "loss_scale does nothing without compute: FLOAT16"));
  }
  errors.add(check_ranges(where, config));
  const LossScaleConfig& scale = config.loss_scale();
  if (!(scale.min() >= std::numeric_limits<float>::min() && scale.min() <= scale.initial())) {
    errors.add(wrong_number(absl::StrCat(where, ".loss_scale"), "min", scale.min(),
                            "a positive, normal number of float32, at most initial"));
  }
  return errors.status();
}

}  // namespace millrace
