#include "losses/loss_registry.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "losses/example_losses.h"
#include "losses/group_losses.h"
#include "proto/field_errors.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

std::vector<LossRegistry::Kind> loss_kinds() {
  return {
      {TaskConfig::kBinaryCrossEntropy,
       [](const auto& task) {
         return std::make_unique<BinaryCrossEntropyLoss>(task.binary_cross_entropy());
       }},
      {TaskConfig::kFocal,
       [](const auto& task) { return std::make_unique<FocalLoss>(task.focal()); }},
      {TaskConfig::kPairwise, [](const auto&) { return std::make_unique<PairwiseLoss>(); }},
      {TaskConfig::kSoftmax,
       [](const auto& task) { return std::make_unique<SoftmaxLoss>(task.softmax()); }},
      {TaskConfig::kMeanSquaredError,
       [](const auto&) { return std::make_unique<MeanSquaredErrorLoss>(); }},
      {TaskConfig::kMeanAbsoluteError,
       [](const auto&) { return std::make_unique<MeanAbsoluteErrorLoss>(); }},
      {TaskConfig::kHuber,
       [](const auto& task) { return std::make_unique<HuberLoss>(task.huber()); }},
  };
}

}  // namespace

MILLRACE_PART_FAMILY(loss, LossRegistry, "loss", "task { custom { name: \"NAME\" } }", "loss",
                     loss_kinds(), TaskConfig::kBinaryCrossEntropy);

absl::Status check_loss(absl::string_view where, const TaskConfig& task) {
  return all_errors({check_ranges(where, task), loss_registry().check(where, task)});
}

absl::StatusOr<std::unique_ptr<Loss>> create_loss(const TaskConfig& task) {
  RETURN_IF_ERROR(check_loss(absl::StrCat("task \"", task.label(), "\""), task));
  return loss_registry().create(task);
}

}  // namespace millrace
