#include "losses/task_check.h"

#include <algorithm>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "losses/loss.h"
#include "losses/loss_registry.h"
#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {
namespace {

std::string place_of(absl::string_view where, int index, const TaskConfig& task) {
  return entry(absl::StrCat(where, ".task"), index, task.label());
}

// Returns the label of an entry.
absl::StatusOr<std::string> label_of(absl::string_view place, const TaskConfig& task,
                                     const std::vector<std::string>& labels) {
  if (!task.has_label()) {
    if (labels.size() == 1) return labels[0];
    return wrong(place, absl::StrCat("label is missing; there are ", labels.size(), ": ",
                                     absl::StrJoin(labels, ", ")));
  }
  if (std::find(labels.begin(), labels.end(), task.label()) != labels.end()) return task.label();
  return wrong(place, absl::StrCat("no feature of kind LABEL \"", task.label(), "\"",
                                   did_you_mean(task.label(), labels)));
}

// Checks that the job provides what the loss of a task requires.
absl::Status check_needs(absl::string_view place, const TaskConfig& task, bool has_groups,
                         bool binary_labels) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Loss> loss, create_loss(task));
  if (loss->needs_groups() && !has_groups) {
    return wrong(place, absl::StrCat(loss->name(),
                                     " compares the examples of a group, but no feature is of kind "
                                     "GROUP_ID; add one"));
  }
  if (loss->labels() == LossLabels::kNumbers && binary_labels) {
    return wrong(place, absl::StrCat(loss->name(),
                                     " learns any number, but labels must be 0 or 1; set "
                                     "train.binary_labels: false"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<TaskConfig>> tasks_of_labels(absl::string_view where,
                                                        absl::Span<const TaskConfig> tasks,
                                                        absl::Span<const FeatureConfig> features,
                                                        bool binary_labels) {
  std::vector<std::string> labels;
  bool has_groups = false;
  for (const FeatureConfig& feature : features) {
    if (feature.kind() == FeatureConfig::LABEL) labels.push_back(feature.name());
    has_groups |= feature.kind() == FeatureConfig::GROUP_ID;
  }
  // Labels without an entry keep the default task.
  std::vector<TaskConfig> of_labels(labels.size());
  for (size_t i = 0; i < labels.size(); ++i) of_labels[i].set_label(labels[i]);
  std::set<std::string> seen;
  FieldErrors errors;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::string place = place_of(where, static_cast<int>(i), tasks[i]);
    errors.add(check_loss(place, tasks[i]));
    const absl::StatusOr<std::string> label = label_of(place, tasks[i], labels);
    errors.add(label.status());
    if (!label.ok()) continue;
    if (!seen.insert(*label).second) {
      errors.add(wrong(place, absl::StrCat("label \"", *label, "\" has a task before it")));
    }
    TaskConfig& task = of_labels[std::find(labels.begin(), labels.end(), *label) - labels.begin()];
    task = tasks[i];
    task.set_label(*label);
  }
  RETURN_IF_ERROR(errors.status());
  // The needs of a loss are checked only if its options are valid, so that one mistake gives one
  // line.
  for (size_t i = 0; i < tasks.size(); ++i) {
    errors.add(check_needs(place_of(where, static_cast<int>(i), tasks[i]), tasks[i], has_groups,
                           binary_labels));
  }
  RETURN_IF_ERROR(errors.status());
  return of_labels;
}

absl::Status check_tasks(absl::string_view where, const TrainConfig& train) {
  const std::vector<TaskConfig> tasks(train.task().begin(), train.task().end());
  const std::vector<FeatureConfig> features(train.feature().begin(), train.feature().end());
  return tasks_of_labels(where, tasks, features, train.binary_labels()).status();
}

}  // namespace millrace
