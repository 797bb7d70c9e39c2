// Interface of models.
#ifndef MILLRACE_FRAMEWORK_MODEL_MODEL_H_
#define MILLRACE_FRAMEWORK_MODEL_MODEL_H_

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/progress.h"
#include "hook/phase.h"
#include "hook/reported_value.h"
#include "io/batch.h"

namespace millrace {

class EmbeddingCollection;

// A value that a model reports.
struct NamedValue {
  std::string name;
  at::Tensor value;  // float32 []
  // Reduction of the values of micro-batches, steps and ranks to the value of a report.
  Reduction reduction = Reduction::kMean;
  // float32 [], used by means: at least 0; a value of weight 0 does not count. Undefined: 1.
  at::Tensor weight = {};
};

// Ids that a model looks up in one of its collections.
struct TableLookup {
  EmbeddingCollection* collection = nullptr;  // borrowed; one of the model's submodules
  KeyedJagged features;                       // as EmbeddingCollection::forward gets them
};

struct ModelOutput {
  // float32 []: the loss summed (not averaged) over the examples of the batch, times their weights.
  // For a model that counts targets (Model::count_targets): float32 [tasks], the sum of each task,
  // multiplied by the task's factor.
  at::Tensor loss;
  // float32 [batch, tasks]: probabilities or values, for metrics.
  at::Tensor predictions;
  // float32 []: the divisor of the summed loss; undefined: the number of examples. Always undefined
  // for a model that counts targets.
  at::Tensor targets;
  // Extra values to report.
  std::vector<NamedValue> metrics;
};

// A module that computes a loss from batches. The trainer finds the embedding collections among the
// submodules, which the sparse optimizer updates; the dense optimizers update all other parameters.
// A model is built from a FeatureSchema (see model_registry.h). All calls come from the trainer's
// thread. Only the train step and the evaluator call forward and evaluate.
//
//   class Linear : public Model {
//    public:
//     explicit Linear(int64_t dims) { fc_ = register_module("fc", torch::nn::Linear(dims, 1)); }
//     absl::StatusOr<ModelOutput> forward(const Batch& batch) override {
//       at::Tensor logits = fc_->forward(batch.dense);
//       return ModelOutput{.loss = ..., .predictions = logits.sigmoid()};
//     }
//   };
class Model : public torch::nn::Module {
 public:
  // Computes the loss and the predictions of a batch. Called for each micro-batch of a training
  // step and, by default, in evaluation. Errors end the run. forward() must not keep state that the
  // next step depends on outside parameters and buffers, and must not read tensors back to the CPU
  // except where report_due() is true. REQUIRES: either training mode and gradients are both on, or
  // both are off.
  virtual absl::StatusOr<ModelOutput> forward(const Batch& batch) = 0;

  // Returns the number of targets of each task (label) in a batch, each at least 0. The loss of a
  // task, summed over a step, is divided by the sum of the task's targets over all micro-batches
  // and ranks of the step. The loss of the step is the sum over tasks; a task without a target in
  // the step adds nothing. The result must be empty either for all batches of a model or for none,
  // also for a batch without examples. Called before the first forward pass of the step, in
  // evaluation before evaluate(). Meant for several tasks whose examples may lack labels, and for
  // losses over pairs. Default: empty; the loss is one number, divided as ModelOutput says.
  virtual absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) {
    return std::vector<int64_t>();
  }

  // Returns the ids that forward() or evaluate() of this batch may look up. Called before either of
  // them, so that rows of tables that are sharded over ranks can be fetched. Ids that are announced
  // but not looked up have no effect; looking up an id that was not announced is an error. The
  // result must depend on the batch alone: no random numbers. Called for batches with examples if
  // tables are sharded over ranks. With one rank, called in the first training step, so that ids
  // that are not announced are detected there. Default: `batch.sparse` for each embedding
  // collection among the submodules.
  virtual absl::StatusOr<std::vector<TableLookup>> lookups(const Batch& batch);

  // Called instead of forward() in evaluation, with gradients off. Must not change the model.
  // Default: calls forward().
  virtual absl::StatusOr<ModelOutput> evaluate(const Batch& batch) { return forward(batch); }

  // Called before each step, with the current progress and the purpose of the step. Default: does
  // nothing.
  virtual void begin_step(const Progress& progress, Phase phase) {}

  // Called before each evaluation, on every rank, with the name of the evaluation set. Evaluation
  // mode is on and gradients are off; the first begin_step() of the set follows. A model may choose
  // here what evaluate() computes for the set, but must not change parameters or buffers. Default:
  // does nothing.
  virtual void begin_evaluation(absl::string_view set) {}

  // Returns true if the values of the batch will be read: in training, if a report follows the step
  // (see HookContext::report_due()); in evaluation, always. Lets a model skip values that are
  // expensive to compute.
  bool report_due() const { return report_due_; }
  // Called by the trainer before begin_step().
  void set_report_due(bool due) { report_due_ = due; }

  // Returns the device on which the model computes. The device holds the model's parameters and
  // buffers, the outputs of its collections, and `dense`, `labels` and `weights` of the batches
  // passed to forward() and evaluate(). Ids, `example_ids` and `group_ids` are on the CPU.
  // forward() must create its own tensors on the device, for example with at::zeros_like(). All
  // other functions get batches on the CPU. Default: the CPU.
  at::Device device() const { return device_; }
  // Moves the model to `device` and makes `device` the current device of this thread. Called before
  // optimizers are created from the parameters. Tables stay in host memory. Throws c10::Error if
  // the device cannot be used.
  void move_to(at::Device device);

 private:
  bool report_due_ = false;
  at::Device device_ = at::kCPU;
};

// Returns the embedding collections among a model's modules, in the order of the modules. Borrowed
// from the model.
std::vector<EmbeddingCollection*> collections_of(Model& model);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MODEL_MODEL_H_
