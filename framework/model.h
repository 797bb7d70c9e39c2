// What is trained.
#ifndef MILLRACE_FRAMEWORK_MODEL_H_
#define MILLRACE_FRAMEWORK_MODEL_H_

#include <c10/core/Device.h>
#include <torch/nn/module.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/progress.h"
#include "framework/phase.h"
#include "framework/report/reduction.h"
#include "io/batch.h"

namespace millrace {

class EmbeddingCollection;

// A value that a model reports.
struct NamedValue {
  std::string name;
  at::Tensor value;  // float32 []
  // How the values of micro-batches, steps and ranks become the one of a report.
  Reduction reduction = Reduction::kMean;
  // float32 [], of a mean: at least 0; a value of weight 0 does not count. Undefined: 1.
  at::Tensor weight = {};
};

// Ids that a model looks up in one of its collections.
struct TableLookup {
  EmbeddingCollection* collection = nullptr;  // borrowed; one of the model's submodules
  KeyedJagged features;                       // as EmbeddingCollection::forward gets them
};

struct ModelOutput {
  // float32 []: summed over the batch's examples (times their weights), not averaged. Of a model
  // that counts targets (Model::count_targets): float32 [tasks], each summed, times its factor.
  at::Tensor loss;
  // float32 [batch, tasks]: probabilities or values, for metrics.
  at::Tensor predictions;
  // float32 []: what the summed loss is to be divided by; undefined: the number of examples. Always
  // undefined of a model that counts targets.
  at::Tensor targets;
  // Extra values to report.
  std::vector<NamedValue> metrics;
};

// A module that turns batches into a loss. Embedding collections among its submodules are found by
// the trainer and updated by the sparse optimizer; its other parameters by the dense ones. It is
// built from a FeatureSchema (see model_registry.h). All calls come from the trainer's thread; only
// the train step and the evaluator call forward and evaluate.
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
  // REQUIRES: the module is in training mode and gradients are on, or neither.
  // Errors end the run. It must not keep state that the next step depends on outside its
  // parameters and buffers, nor read tensors back to the CPU, except where report_due() is true.
  virtual absl::StatusOr<ModelOutput> forward(const Batch& batch) = 0;

  // Returns the number of targets of each task (label) in a batch, each at least 0. The loss of a
  // task, summed over a step, is divided by the sum of its targets over all micro-batches and ranks
  // of the step, and the loss of the step is the sum over tasks. A task without a target in a step
  // counts nothing there. Of all batches of a model the result is empty, or of none, also of a
  // batch without examples. Called before the first forward pass of the step, in evaluation before
  // evaluate(). For several tasks of which examples may lack labels, and for losses over pairs.
  // Default: empty; the loss is one number, divided as ModelOutput says.
  virtual absl::StatusOr<std::vector<int64_t>> count_targets(const Batch& batch) {
    return std::vector<int64_t>();
  }

  // Returns the ids that forward() or evaluate() of this batch may look up, before either is
  // called: with tables over ranks their rows are fetched then. It may announce ids that are not
  // looked up; they leave no trace. An id that is looked up and was not announced is an error. A
  // pure function of the batch: it uses no random numbers. Called for batches with examples where
  // tables are over ranks, and with one rank in the first step of training, so that an id that is
  // not announced is found there. Default: `batch.sparse` for each embedding collection among
  // the submodules.
  virtual absl::StatusOr<std::vector<TableLookup>> lookups(const Batch& batch);

  // Called instead of forward in evaluation, with gradients off. It changes nothing.
  virtual absl::StatusOr<ModelOutput> evaluate(const Batch& batch) { return forward(batch); }

  // Called before each step: what progress stands at and what the step is for.
  virtual void begin_step(const Progress& progress, Phase phase) {}

  // Called before each evaluation, on every rank, with the name of the evaluation set: in
  // evaluation mode, with gradients off, before the first begin_step() of the set. It may choose
  // what evaluate() computes for this set; it changes no parameter and no buffer. Default: does
  // nothing.
  virtual void begin_evaluation(absl::string_view set) {}

  // Returns whether the values of the batch are about to be read: in training, whether a report
  // follows the step, as HookContext::report_due() says; in evaluation true. For values that are
  // expensive to compute.
  bool report_due() const { return report_due_; }
  // Called by the trainer before begin_step().
  void set_report_due(bool due) { report_due_ = due; }

  // Returns the device on which the model computes. Its parameters and buffers, `dense`, `labels`
  // and `weights` of the batches that forward() and evaluate() get, and the outputs of its
  // collections are there; ids, `example_ids` and `group_ids` are on the CPU. A tensor that
  // forward() makes itself must be made there, as with at::zeros_like(). All other functions get
  // batches on the CPU. Default: the CPU.
  at::Device device() const { return device_; }
  // Moves the model to `device`, before optimizers are made of its parameters, and makes that the
  // current device of this thread. Tables stay in the memory of the host. Throws c10::Error if the
  // device cannot be used.
  void move_to(at::Device device);

 private:
  bool report_due_ = false;
  at::Device device_ = at::kCPU;
};

// Returns the embedding collections among a model's modules, in the modules' order. Borrowed from
// it.
std::vector<EmbeddingCollection*> collections_of(Model& model);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MODEL_H_
