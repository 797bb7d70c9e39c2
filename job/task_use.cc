#include "job/task_use.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "framework/model/model_registry.h"
#include "framework/trainer_parts.h"
#include "losses/loss.h"
#include "losses/loss_registry.h"
#include "losses/task_check.h"
#include "metrics/metric.h"
#include "metrics/metric_registry.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

std::string place_of(const TrainConfig& train, int task) {
  return entry("train.task", task, train.task(task).label());
}

// Returns "; models that read them: deepfm, dlrm".
std::string readers_of_tasks() {
  std::vector<std::string> readers;
  for (const std::string& model : registered_models()) {
    if (labels_of_model(model) == ModelLabels::kOfTasks) readers.push_back(model);
  }
  return readers.empty() ? "" : absl::StrCat("; models that do: ", absl::StrJoin(readers, ", "));
}

absl::Status check_model(const TrainConfig& train) {
  const std::string& name = train.model().name();
  const ModelLabels labels = labels_of_model(name);
  if (!train.task().empty() && labels != ModelLabels::kOfTasks) {
    return wrong(place_of(train, 0),
                 absl::StrCat("model \"", name, "\" has losses of its own and does not read tasks",
                              readers_of_tasks()));
  }
  for (int i = 0; i < train.feature_size(); ++i) {
    const FeatureConfig& feature = train.feature(i);
    if (feature.missing() != FeatureConfig::MASK || labels != ModelLabels::kProbabilities) continue;
    return wrong(entry("train.feature", i, feature.name()),
                 absl::StrCat("missing is MASK, but model \"", name,
                              "\" takes probabilities alone as labels and leaves none out",
                              readers_of_tasks()));
  }
  return absl::OkStatus();
}

// Returns the metrics of `metrics` that take probabilities only, or the others.
std::vector<std::string> choose(const std::vector<std::string>& metrics, bool of_probabilities) {
  std::vector<std::string> chosen;
  for (const std::string& metric : metrics) {
    if (traits_of_metric(metric).needs_probabilities == of_probabilities) chosen.push_back(metric);
  }
  return chosen;
}

// Checks `metrics`, which the configuration has at `where`.
absl::Status check_metrics(const TrainConfig& train, absl::string_view where,
                           const std::vector<std::string>& metrics) {
  const std::vector<std::string> found = choose(metrics, /*of_probabilities=*/true);
  if (found.empty()) return absl::OkStatus();
  for (int i = 0; i < train.task_size(); ++i) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, create_loss(train.task(i)));
    if (loss->predicts_probabilities()) continue;
    return wrong(
        place_of(train, i),
        absl::StrCat(loss->name(), " predicts no probabilities, which ", where,
                     " needs: ", absl::StrJoin(found, ", "), "; metrics for it: ",
                     absl::StrJoin(choose(metric_names(), /*of_probabilities=*/false), ", ")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status check_task_use(const TrainConfig& train) {
  RETURN_IF_ERROR(check_model(train));
  if (train.metric().empty()) {
    RETURN_IF_ERROR(check_metrics(train, "the default of train.metric", TrainerOptions().metrics));
  } else {
    RETURN_IF_ERROR(
        check_metrics(train, "train.metric", {train.metric().begin(), train.metric().end()}));
  }
  for (int i = 0; i < train.eval_data_size(); ++i) {
    const EvaluationSetConfig& set = train.eval_data(i);
    RETURN_IF_ERROR(check_metrics(train,
                                  absl::StrCat(entry("train.eval_data", i, set.name()), ".metric"),
                                  {set.metric().begin(), set.metric().end()}));
  }
  for (int i = 0; i < train.slice_size(); ++i) {
    const SliceConfig& slice = train.slice(i);
    RETURN_IF_ERROR(check_metrics(train,
                                  absl::StrCat(entry("train.slice", i, slice.feature()), ".metric"),
                                  {slice.metric().begin(), slice.metric().end()}));
  }
  return absl::OkStatus();
}

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
