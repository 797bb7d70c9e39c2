// One optimizer update: the part of the loop that may be replaced.
#ifndef MILLRACE_FRAMEWORK_TRAIN_STEP_H_
#define MILLRACE_FRAMEWORK_TRAIN_STEP_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "framework/events.h"
#include "framework/ranks/commit_exchange.h"
#include "io/batch.h"
#include "optim/dense_optimizer.h"
#include "optim/gradient_clipping.h"
#include "optim/sparse_optimizer.h"
#include "proto/config.pb.h"

namespace millrace {

class Model;

// What a step works on; all borrowed from the trainer.
struct TrainStepParts {
  Model& model;
  absl::Span<const NamedParameter> parameters;  // dense ones, of all optimizers
  absl::Span<const std::unique_ptr<DenseOptimizer>> dense_optimizers;
  SparseOptimizer* sparse_optimizer;  // null: the model has no tables
  CommitExchange& commit;
  const GradientClipping* clipping = nullptr;                   // null: gradients are not clipped
  PrecisionConfig::Compute compute = PrecisionConfig::FLOAT32;  // of forward passes
};

struct StepInput {
  // Of this rank; at least one, as many on all ranks. A rank whose data ended before that of others
  // has empty ones (size 0): nothing is computed for them.
  absl::Span<const Batch> micro_batches;
  // Examples of the whole step: all micro-batches of all ranks. The loss is divided by it, unless
  // targets are counted.
  int64_t examples = 0;
  const Progress& progress;  // before this step
  uint64_t seed = 0;
  int rank = 0;
  // Of a model that counts targets: those of each task in the whole step, by which the task's loss
  // is divided. Else empty.
  absl::Span<const int64_t> targets = {};
  // Factor of losses before their backward passes.
  double loss_scale = 1;
  // `micro_batches` with their tensors on the device of the model, as many. Empty: the model
  // computes on the CPU.
  absl::Span<const Batch> on_device = {};

  // Returns a micro-batch as forward() gets it.
  const Batch& model_batch(int64_t micro_batch) const {
    return on_device.empty() ? micro_batches[micro_batch] : on_device[micro_batch];
  }
};

// The trainer's part in a step: it fires the hooks. An error ends the step and is returned by run.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Before the forward pass of each micro-batch, with StepInput::micro_batches.
  virtual absl::Status after_data(const Batch& batch, int64_t micro_batch) = 0;
  // Once, when gradients are complete and found finite, before anything is updated. The step goes
  // on whatever a hook says here, since other ranks update too: the trainer keeps the error and
  // ends the run after the step.
  virtual void after_backward(const Gradients& gradients) = 0;
};

// Forward, backward and update over all micro-batches. What an implementation must do, and
// what tests/conformance/train_step_conformance.h checks:
//  * before each micro-batch, seed the generators by (seed, step, micro-batch, rank);
//  * run the forward pass, and no more, in AutocastScope(parts.compute, model.device().type()),
//    with input.model_batch();
//  * multiply losses by input.loss_scale before the backward pass and pass it in CommitInput, so
//    that parts.commit divides gradients by it;
//  * sum gradients over micro-batches so that N of them equal one large batch, also where each task
//    has targets of its own (StepInput::targets);
//  * call parts.sparse_optimizer->check() before parts.commit.run(), so that an error which a
//    collection kept from a forward or backward pass fails the step before anything is updated;
//  * call parts.commit.run() once, after the last backward pass and before any update, and do what
//    it decides: gradients are sums over ranks from then on;
//  * clip the gradients that parts.commit.run() leaves, before after_backward, if parts.clipping is
//    given;
//  * tell parts.commit what it enters: forward, backward, update;
//  * refuse a step whose loss or any gradient is not finite: then no parameter, row, count or
//    optimizer state differs from before, and the result says what was not finite;
//  * leave gradients cleared and no tentative row behind, whatever happens;
//  * return an error, not throw, whatever the model does.
// Called from the trainer's thread.
class TrainStep {
 public:
  virtual ~TrainStep() = default;
  // Returns: applied or refused. Errors: those of the model, the tables, the optimizers and
  // the observer; nothing was updated then on any rank, unless the error is an optimizer's.
  virtual absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                         StepObserver& observer) = 0;
  // Returns true if run() may be called again with the same batches and another loss_scale after
  // it refused the step, as FLOAT16 needs. The default is false.
  virtual bool can_repeat() const { return false; }
};

// The standard step.
std::unique_ptr<TrainStep> create_standard_train_step();

// Seeds LibTorch's generator of the CPU, and that of `device`, for one micro-batch.
void seed_generators(uint64_t seed, int64_t step, int64_t micro_batch, int rank,
                     at::Device device = at::kCPU);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_TRAIN_STEP_H_
