// The forward and backward pass of a step, and how such a part gets its name.
#ifndef MILLRACE_FRAMEWORK_LOOP_TRAIN_STEP_H_
#define MILLRACE_FRAMEWORK_LOOP_TRAIN_STEP_H_

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "framework/ranks/commit_exchange.h"
#include "hook/events.h"
#include "io/batch.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/gradient_clipping.h"
#include "optim/sparse_optimizer.h"
#include "proto/config.pb.h"
#include "proto/parts/kind_registry.h"

namespace millrace {

class Model;

// Objects that a step uses; all borrowed from the trainer.
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
  // Micro-batches of this rank: at least one, and equally many on all ranks. If the data of a rank
  // ends early, its micro-batches are empty (size 0), and nothing is computed for them.
  absl::Span<const Batch> micro_batches;
  // Examples of the whole step: all micro-batches of all ranks. Divisor of the loss, unless targets
  // are counted.
  int64_t examples = 0;
  const Progress& progress;  // before this step
  uint64_t seed = 0;
  int rank = 0;
  // Targets of each task in the whole step, the divisors of the losses of the tasks. Empty unless
  // the model counts targets.
  absl::Span<const int64_t> targets = {};
  // Factor applied to losses before their backward passes.
  double loss_scale = 1;
  // Copies of all `micro_batches` with their tensors on the device of the model. Empty if the model
  // computes on the CPU.
  absl::Span<const Batch> on_device = {};

  // Returns a micro-batch in the form for forward().
  const Batch& model_batch(int64_t micro_batch) const {
    return on_device.empty() ? micro_batches[micro_batch] : on_device[micro_batch];
  }
};

// The trainer's part in a step, which calls the hooks. run() returns an error of an observer.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Called before the forward pass of each micro-batch, with StepInput::micro_batches. An error
  // ends the step.
  virtual absl::Status after_data(const Batch& batch, int64_t micro_batch) = 0;
  // Called once, when gradients are complete and finite, before anything is updated. An error of a
  // hook does not stop the step, since other ranks update too: the trainer keeps the error and ends
  // the run after the step.
  virtual void after_backward(const Gradients& gradients) = 0;
};

// Forward, backward and update over all micro-batches. Called from the trainer's thread. Every
// implementation must meet these requirements, which tests/conformance/train_step_conformance.h
// checks:
//  * before each micro-batch, seed the generators by (seed, step, micro-batch, rank);
//  * run the forward pass, and no more, in AutocastScope(parts.compute, model.device().type()),
//    with input.model_batch();
//  * multiply losses by input.loss_scale before the backward pass and pass the factor in
//    CommitInput, so that parts.commit divides gradients by it;
//  * sum gradients over micro-batches so that N micro-batches equal one large batch, also if each
//    task has its own targets (StepInput::targets);
//  * call parts.sparse_optimizer->check() before parts.commit.run(), so that an error that a
//    collection kept from a forward or backward pass fails the step before anything is updated;
//  * call parts.commit.run() once, after the last backward pass and before any update, and follow
//    its decision: afterwards, gradients are sums over ranks;
//  * return CommitDecision::targets, if above 0, as StepResult::loss_targets, so that reports weigh
//    the loss by targets;
//  * clip the gradients that parts.commit.run() leaves, before after_backward, if parts.clipping is
//    given;
//  * report each phase to parts.commit: forward, backward, update;
//  * refuse a step whose loss or any gradient is not finite: then no parameter, row, count or
//    optimizer state differs from before, and the result says what was not finite;
//  * always leave gradients cleared and no tentative row behind, also after an error;
//  * return an error instead of throwing, also if the model throws.
class TrainStep {
 public:
  virtual ~TrainStep() = default;
  // Runs one step. Returns a result that is applied or refused. Errors: of the model, the tables,
  // the optimizers and the observer. After an error nothing has been updated on any rank, unless an
  // optimizer failed.
  virtual absl::StatusOr<StepResult> run(const TrainStepParts& parts, const StepInput& input,
                                         StepObserver& observer) = 0;
  // Returns true if run() may be called again with the same batches and another loss_scale after a
  // refused step, as FLOAT16 needs. The default is false.
  virtual bool can_repeat() const { return false; }
};

// The standard step.
std::unique_ptr<TrainStep> create_standard_train_step();

// Seeds LibTorch's generators of the CPU and of `device` for one micro-batch.
void seed_generators(uint64_t seed, int64_t step, int64_t micro_batch, int rank,
                     at::Device device = at::kCPU);

// Creates a train step. `config` contains the step's extension.
using TrainStepFactory =
    std::function<absl::StatusOr<std::unique_ptr<TrainStep>>(const CustomConfig& config)>;

using TrainStepRegistry = KindRegistry<TrainStepConfig, TrainStepFactory>;

// Returns the registry of train steps, which includes the standard one, the default.
TrainStepRegistry& train_step_registry();

// Creates the train step that `config` names. Errors: as PartRegistry::create().
absl::StatusOr<std::unique_ptr<TrainStep>> create_train_step(const TrainStepConfig& config);

}  // namespace millrace

// Registers a train step. Used at namespace scope in a .cc whose cc_library sets
// `alwayslink = True`:
//   MILLRACE_REGISTER_TRAIN_STEP(sam, "sharpness-aware minimization", &SamStep::create);
#define MILLRACE_REGISTER_TRAIN_STEP(name, description, factory) \
  MILLRACE_REGISTER_PART(train_step, name, #name, description, factory)

#endif  // MILLRACE_FRAMEWORK_LOOP_TRAIN_STEP_H_
