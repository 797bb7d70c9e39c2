// The losses of a model's tasks.
#ifndef MILLRACE_MODELS_TASK_LOSSES_H_
#define MILLRACE_MODELS_TASK_LOSSES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/model/model.h"
#include "framework/model/model_registry.h"
#include "io/batch.h"
#include "losses/loss.h"

namespace millrace {

// Converts the outputs of a model, one column per label, to a ModelOutput. A model owns a
// TaskLosses and is registered with ModelLabels::kOfTasks:
//
//   absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
//     return tasks_.output(net_->forward(batch.dense), batch);
//   }
//   absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
//     return tasks_.count_targets(batch);
//   }
//
// Immutable. An example whose label is missing (FeatureConfig.MASK) is ignored in that task and in
// its group. In a batch without group ids, such as the batch of an export, each example is a group.
class TaskLosses {
 public:
  // Creates one task per label of the schema; a label without an entry in resources.tasks gets
  // binary cross entropy. Errors: as tasks_of_labels().
  static absl::StatusOr<TaskLosses> create(const ModelResources& resources);

  // Returns the number of tasks, which is the number of outputs per example.
  int64_t size() const { return static_cast<int64_t>(tasks_.size()); }

  // Returns the result of Model::count_targets(): the targets of each task, empty for a single task
  // whose targets are all examples.
  std::vector<int64_t> count_targets(const Batch& batch) const;

  // Returns losses and predictions for `outputs`, float [batch, size()]. Losses are computed in
  // float32. Predictions have no gradient. An empty batch has loss 0.
  ModelOutput output(const at::Tensor& outputs, const Batch& batch) const;

 private:
  struct Task {
    std::unique_ptr<Loss> loss;
    double weight = 1;
    bool may_miss = false;  // true if labels may be not-a-number
  };

  TaskLosses() = default;
  // The examples of a task, and their places: int64 [examples], undefined for all examples.
  struct Selection {
    LossExamples examples;
    at::Tensor places;
  };
  Selection select(int64_t task, const Batch& batch) const;
  at::Tensor loss(int64_t task, const at::Tensor& outputs, const Batch& batch) const;
  at::Tensor predictions(const at::Tensor& outputs) const;

  std::vector<Task> tasks_;  // in the order of labels
  bool counted_ = false;     // true if targets are counted
};

}  // namespace millrace

#endif  // MILLRACE_MODELS_TASK_LOSSES_H_
