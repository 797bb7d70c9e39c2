#include "losses/loss_factory.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "losses/example_losses.h"
#include "losses/group_losses.h"
#include "losses/loss_check.h"
#include "losses/loss_registry.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<Loss>> create_loss(const TaskConfig& task) {
  RETURN_IF_ERROR(check_loss(absl::StrCat("task \"", task.label(), "\""), task));
  switch (task.loss_case()) {
    case TaskConfig::kFocal: return std::make_unique<FocalLoss>(task.focal());
    case TaskConfig::kPairwise: return std::make_unique<PairwiseLoss>();
    case TaskConfig::kSoftmax: return std::make_unique<SoftmaxLoss>(task.softmax());
    case TaskConfig::kMeanSquaredError: return std::make_unique<MeanSquaredErrorLoss>();
    case TaskConfig::kMeanAbsoluteError: return std::make_unique<MeanAbsoluteErrorLoss>();
    case TaskConfig::kHuber: return std::make_unique<HuberLoss>(task.huber());
    case TaskConfig::kCustom: return loss_registry().create(task.custom());
    case TaskConfig::kBinaryCrossEntropy:
    case TaskConfig::LOSS_NOT_SET: break;
  }
  return std::make_unique<BinaryCrossEntropyLoss>(task.binary_cross_entropy());
}

}  // namespace millrace
