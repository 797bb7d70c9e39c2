#include "models/task_losses.h"

#include <ATen/ATen.h>

#include <utility>

#include "base/status_macros.h"
#include "losses/loss_registry.h"
#include "losses/task_check.h"

namespace millrace {

absl::StatusOr<TaskLosses> TaskLosses::create(const ModelResources& resources) {
  const FeatureSchema& schema = resources.schema;
  // The data checks that labels are 0 or 1.
  ASSIGN_OR_RETURN(
      const std::vector<TaskConfig> configs,
      tasks_of_labels("train", resources.tasks, schema.features(), /*binary_labels=*/false));
  TaskLosses losses;
  losses.counted_ = configs.size() > 1;
  for (const TaskConfig& config : configs) {
    Task& task = losses.tasks_.emplace_back();
    task.weight = config.weight();
    ASSIGN_OR_RETURN(task.loss, create_loss(config));
    for (const FeatureConfig& feature : schema.features()) {
      task.may_miss |= feature.name() == config.label() && feature.missing() == FeatureConfig::MASK;
    }
    losses.counted_ |= task.may_miss || !task.loss->targets_are_examples();
  }
  return losses;
}

TaskLosses::Selection TaskLosses::select(int64_t task, const Batch& batch) const {
  Selection selection;
  LossExamples& examples = selection.examples;
  examples = {batch.labels.select(1, task), batch.weights, batch.group_ids};
  if (tasks_[task].loss->needs_groups() && !examples.group_ids.defined()) {
    examples.group_ids = at::arange(batch.size, at::kLong);
  }
  if (!tasks_[task].may_miss) return selection;
  const at::Tensor known = examples.labels.isnan().logical_not();
  selection.places = known.nonzero().squeeze(1);
  const auto take = [&](at::Tensor& tensor) {
    if (!tensor.defined()) return;
    tensor = tensor.index_select(0, selection.places.to(tensor.device()));
  };
  take(examples.labels);
  take(examples.weights);
  take(examples.group_ids);
  return selection;
}

std::vector<int64_t> TaskLosses::count_targets(const Batch& batch) const {
  std::vector<int64_t> targets;
  for (int64_t task = 0; counted_ && task < size(); ++task) {
    targets.push_back(tasks_[task].loss->count_targets(select(task, batch).examples));
  }
  return targets;
}

at::Tensor TaskLosses::loss(int64_t task, const at::Tensor& outputs, const Batch& batch) const {
  const Selection selection = select(task, batch);
  at::Tensor column = outputs.select(1, task);
  if (selection.places.defined()) column = column.index_select(0, selection.places);
  const at::Tensor sum = tasks_[task].loss->sum(column, selection.examples);
  return tasks_[task].weight == 1 ? sum : sum * tasks_[task].weight;
}

at::Tensor TaskLosses::predictions(const at::Tensor& outputs) const {
  if (size() == 1) return tasks_[0].loss->predict(outputs);
  std::vector<at::Tensor> columns;
  for (int64_t task = 0; task < size(); ++task) {
    columns.push_back(tasks_[task].loss->predict(outputs.select(1, task)));
  }
  return at::stack(columns, 1);
}

ModelOutput TaskLosses::output(const at::Tensor& outputs, const Batch& batch) const {
  const at::Tensor numbers = outputs.to(at::kFloat);
  ModelOutput output;
  if (counted_) {
    std::vector<at::Tensor> losses;
    for (int64_t task = 0; task < size(); ++task) losses.push_back(loss(task, numbers, batch));
    output.loss = at::stack(losses);
  } else {
    output.loss = loss(0, numbers, batch);
  }
  output.predictions = predictions(numbers.detach());
  return output;
}

}  // namespace millrace
