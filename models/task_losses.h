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

// From the outputs of a model, one column for each label, to what it returns. A model holds one and
// is registered with ModelLabels::kOfTasks:
//
//   absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
//     return tasks_.output(net_->forward(batch.dense), batch);
//   }
//   absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) override {
//     return tasks_.count_targets(batch);
//   }
//
// Immutable. An example whose label is missing (FeatureConfig.MASK) has no part in that task, nor
// in its group there. In a batch without group ids, such as that of an export, each example is a
// group.
class TaskLosses {
 public:
  // A task for each label of the schema; those without an entry in resources.tasks learn by binary
  // cross entropy. Errors: those of tasks_of_labels().
  static absl::StatusOr<TaskLosses> create(const ModelResources& resources);

  // The number of tasks: outputs of the model for an example.
  int64_t size() const { return static_cast<int64_t>(tasks_.size()); }

  // For Model::count_targets(). Empty for a single task whose targets are all examples.
  std::vector<int64_t> count_targets(const Batch& batch) const;

  // `outputs`: float [batch, size()]; losses are computed in float32. Predictions are without
  // gradient. An empty batch has loss 0.
  ModelOutput output(const at::Tensor& outputs, const Batch& batch) const;

 private:
  struct Task {
    std::unique_ptr<Loss> loss;
    double weight = 1;
    bool may_miss = false;  // whether labels may be not-a-number
  };

  TaskLosses() = default;
  // The examples of a task, and their places: int64 [examples], undefined if they are all.
  struct Selection {
    LossExamples examples;
    at::Tensor places;
  };
  Selection select(int64_t task, const Batch& batch) const;
  at::Tensor loss(int64_t task, const at::Tensor& outputs, const Batch& batch) const;
  at::Tensor predictions(const at::Tensor& outputs) const;

  std::vector<Task> tasks_;  // in the order of labels
  bool counted_ = false;     // whether targets are counted
};

}  // namespace millrace

#endif  // MILLRACE_MODELS_TASK_LOSSES_H_
