#include "job/label_ranges.h"

#include <memory>
#include <vector>

#include "base/status_macros.h"
#include "framework/model/model_registry.h"
#include "losses/loss.h"
#include "losses/loss_registry.h"
#include "losses/task_check.h"

namespace millrace {
namespace {

LabelRange range_of(LossLabels labels) {
  switch (labels) {
    case LossLabels::kProbabilities: return LabelRange::kProbability;
    case LossLabels::kGrades: return LabelRange::kNotNegative;
    case LossLabels::kNumbers: break;
  }
  return LabelRange::kAny;
}

}  // namespace

LabelRange label_range(const TrainConfig& train) {
  if (train.binary_labels()) return LabelRange::kBinary;
  const bool probabilities = labels_of_model(train.model().name()) == ModelLabels::kProbabilities;
  return probabilities ? LabelRange::kProbability : LabelRange::kAny;
}

absl::StatusOr<std::map<std::string, LabelRange>> label_ranges(const TrainConfig& train) {
  std::map<std::string, LabelRange> ranges;
  if (train.binary_labels() || labels_of_model(train.model().name()) != ModelLabels::kOfTasks) {
    return ranges;
  }
  const std::vector<TaskConfig> given(train.task().begin(), train.task().end());
  const std::vector<FeatureConfig> features(train.feature().begin(), train.feature().end());
  ASSIGN_OR_RETURN(const std::vector<TaskConfig> tasks,
                   tasks_of_labels("train", given, features, /*binary_labels=*/false));
  for (const TaskConfig& task : tasks) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, create_loss(task));
    ranges[task.label()] = range_of(loss->labels());
  }
  return ranges;
}

}  // namespace millrace
