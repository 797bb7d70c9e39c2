#include "losses/loss_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/parts/part_family.h"
#include "base/status_macros.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"
#include "proto/float_field_check.h"

namespace millrace {
namespace {

void check_focal(const std::string& where, const FocalLossConfig& config, FieldErrors* errors) {
  errors->add(not_negative_float(where, "gamma", config.gamma()));
  if (!config.has_alpha() || (config.alpha() >= 0 && config.alpha() <= 1)) return;
  errors->add(wrong_number(where, "alpha", config.alpha(), "in [0, 1]"));
}

}  // namespace

absl::Status check_loss(absl::string_view where, const TaskConfig& task) {
  FieldErrors errors;
  errors.add(normal_float(where, "weight", task.weight()));
  const auto part = [&](absl::string_view field) { return absl::StrCat(where, ".", field); };
  switch (task.loss_case()) {
    case TaskConfig::kBinaryCrossEntropy: {
      const std::string place = part("binary_cross_entropy");
      const BinaryCrossEntropyLossConfig& config = task.binary_cross_entropy();
      errors.add(below_one(place, "label_smoothing", config.label_smoothing()));
      errors.add(normal_float(place, "positive_weight", config.positive_weight()));
      break;
    }
    case TaskConfig::kFocal: check_focal(part("focal"), task.focal(), &errors); break;
    case TaskConfig::kSoftmax:
      errors.add(normal_float(part("softmax"), "temperature", task.softmax().temperature()));
      break;
    case TaskConfig::kHuber:
      errors.add(normal_float(part("huber"), "delta", task.huber().delta()));
      break;
    case TaskConfig::kCustom:
      errors.add(annotate(PartFamily::check("loss", task.custom().name()), part("custom")));
      break;
    case TaskConfig::kPairwise:
    case TaskConfig::kMeanSquaredError:
    case TaskConfig::kMeanAbsoluteError:
    case TaskConfig::LOSS_NOT_SET: break;
  }
  return errors.status();
}

}  // namespace millrace
