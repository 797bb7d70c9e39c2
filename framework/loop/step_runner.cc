#include "framework/loop/step_runner.h"

#include <c10/core/GradMode.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "framework/model/model.h"

namespace millrace {

// Calls the events inside a step.
class StepRunner::Events : public StepObserver {
 public:
  explicit Events(StepRunner& runner) : runner_(runner) {}
  // Begins to recompute the step: hooks already know the batches.
  void repeat() { repeats_ = true; }
  absl::Status after_data(const Batch& batch, int64_t micro_batch) override {
    if (repeats_) return absl::OkStatus();
    return runner_.parts_.hooks.after_data(runner_.parts_.context, batch, micro_batch);
  }
  void after_backward(const Gradients& gradients) override {
    runner_.after_backward_ =
        runner_.parts_.hooks.after_backward(runner_.parts_.context, gradients);
  }

 private:
  StepRunner& runner_;
  bool repeats_ = false;
};

namespace {

// A copy of the buffers of a model, such as running means.
class Buffers {
 public:
  explicit Buffers(const Model& model) : buffers_(model.buffers()) {
    for (const at::Tensor& buffer : buffers_) copies_.push_back(buffer.clone());
  }
  void restore() {
    const c10::AutoGradMode no_gradients(false);
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].copy_(copies_[i]);
  }

 private:
  std::vector<at::Tensor> buffers_;
  std::vector<at::Tensor> copies_;
};

StepTimings operator+(StepTimings a, const StepTimings& b) {
  a.data_wait += b.data_wait;
  a.forward += b.forward;
  a.backward += b.backward;
  a.update += b.update;
  return a;
}

}  // namespace

StepRunner::StepRunner(const Parts& parts, uint64_t seed, const PrecisionConfig& precision)
    : parts_(parts),
      seed_(seed),
      compute_(precision.compute()),
      commit_(parts.agreement, parts.model_parts.parameters, parts.tables) {
  if (compute_ == PrecisionConfig::FLOAT16) {
    loss_scaler_ = std::make_unique<LossScaler>(precision.loss_scale());
  }
}

absl::StatusOr<StepResult> StepRunner::run(const StepData& data, int64_t examples,
                                           absl::Span<const int64_t> targets) {
  after_backward_ = absl::OkStatus();
  ASSIGN_OR_RETURN(StepResult result, compute(data, examples, targets),
                   absl::StrCat("step ", parts_.position.progress.step + 1));
  result.timings.data_wait = data.wait;
  return result;
}

absl::StatusOr<StepResult> StepRunner::compute(const StepData& data, int64_t examples,
                                               absl::Span<const int64_t> targets) {
  const int64_t step = parts_.position.steps_done() + 1;
  commit_.begin_step(step, targets.size());
  if (parts_.tables != nullptr) parts_.tables->begin(Phase::kTrain, step);
  Events events(*this);
  const auto stepping = parts_.context.stepping();
  absl::StatusOr<StepResult> result = absl::InternalError("the step was not run");
  absl::Status status = catch_part_exceptions("the step", [&]() -> absl::Status {
    parts_.model.set_report_due(parts_.context.report_due());
    parts_.model.begin_step(parts_.position.progress, Phase::kTrain);
    RETURN_IF_ERROR(parts_.hooks.before_step(parts_.context));
    if (parts_.tables != nullptr) RETURN_IF_ERROR(parts_.tables->fetch(data.micro_batches));
    const TrainStepParts step_parts{parts_.model,
                                    parts_.model_parts.parameters,
                                    parts_.dense_optimizers,
                                    parts_.sparse_optimizer,
                                    commit_,
                                    parts_.clipping,
                                    compute_};
    StepInput input{data.micro_batches,    examples, parts_.position.progress, seed_,
                    parts_.context.rank(), targets};
    input.on_device = data.on_device.batches();
    if (parts_.average != nullptr) parts_.average->before_update();
    result = loss_scaler_ == nullptr ? parts_.train_step.run(step_parts, input, events)
                                     : repeat_until_clean(step_parts, input, events);
    if (parts_.average != nullptr && result.ok() && result->applied) {
      parts_.average->after_update();
    }
    return result.status();
  });
  if (status.ok() && !commit_.decided()) {
    status = absl::InternalError("the train step did not call the commit exchange");
  }
  if (!status.ok()) {
    // A failure between fetch() and the train step leaves a step open in the tables.
    if (parts_.tables != nullptr) parts_.tables->discard();
    return commit_.decided() ? status : commit_.fail(status);
  }
  return result;
}

absl::StatusOr<StepResult> StepRunner::repeat_until_clean(const TrainStepParts& parts,
                                                          StepInput input, Events& events) {
  LossScaler& scaler = *loss_scaler_;
  Buffers buffers(parts_.model);
  const double begun = scaler.scale();
  StepTimings timings;
  for (int64_t repeats = 0;; ++repeats) {
    input.loss_scale = scaler.scale();
    ASSIGN_OR_RETURN(StepResult result, parts_.train_step.run(parts, input, events));
    timings = timings + result.timings;
    // The forward pass does not depend on the scale, and all ranks have the same loss.
    const bool overflow =
        !result.applied && commit_.decided() && std::isfinite(result.loss.item<double>());
    if (!overflow || scaler.is_lowest()) {
      result.applied ? scaler.add_clean_step() : scaler.add_refused_step(begun);
      result.repeats = repeats;
      result.timings = timings;
      result.figures.emplace_back("loss_scale", input.loss_scale);
      return result;
    }
    scaler.add_overflow();
    buffers.restore();
    events.repeat();
    if (parts_.tables != nullptr) parts_.tables->repeat();
    commit_.begin_step(parts_.position.steps_done() + 1, input.targets.size());
  }
}

}  // namespace millrace
