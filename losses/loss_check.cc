#include "losses/loss_check.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

absl::Status check_focal(const std::string& where, const FocalLossConfig& config) {
  RETURN_IF_ERROR(not_negative(where, "gamma", config.gamma()));
  if (!config.has_alpha() || (config.alpha() >= 0 && config.alpha() <= 1)) return absl::OkStatus();
  return wrong_number(where, "alpha", config.alpha(), "in [0, 1]");
}

}  // namespace

absl::Status check_loss(absl::string_view where, const TaskConfig& task) {
  RETURN_IF_ERROR(positive(where, "weight", task.weight()));
  const auto part = [&](absl::string_view field) { return absl::StrCat(where, ".", field); };
  switch (task.loss_case()) {
    case TaskConfig::kBinaryCrossEntropy: {
      const std::string place = part("binary_cross_entropy");
      const BinaryCrossEntropyLossConfig& config = task.binary_cross_entropy();
      RETURN_IF_ERROR(below_one(place, "label_smoothing", config.label_smoothing()));
      return positive(place, "positive_weight", config.positive_weight());
    }
    case TaskConfig::kFocal: return check_focal(part("focal"), task.focal());
    case TaskConfig::kSoftmax:
      return positive(part("softmax"), "temperature", task.softmax().temperature());
    case TaskConfig::kHuber: return positive(part("huber"), "delta", task.huber().delta());
    case TaskConfig::kPairwise:
    case TaskConfig::kMeanSquaredError:
    case TaskConfig::kMeanAbsoluteError:
    case TaskConfig::LOSS_NOT_SET: break;
  }
  return absl::OkStatus();
}

}  // namespace millrace
