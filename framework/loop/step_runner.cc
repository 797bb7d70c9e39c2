#include "framework/loop/step_runner.h"

#include <c10/core/GradMode.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "framework/loop/anomaly_watch.h"
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

StepRunner::StepRunner(const Parts& parts, std::unique_ptr<TrainStep> train_step, uint64_t seed,
                       const PrecisionConfig& precision, bool detect_anomaly)
    : parts_(parts),
      train_step_(std::move(train_step)),
      seed_(seed),
      compute_(precision.compute()),
      detect_anomaly_(detect_anomaly) {
  if (compute_ == PrecisionConfig::FLOAT16) {
    loss_scaler_ = std::make_unique<LossScaler>(precision.loss_scale());
  }
}

absl::StatusOr<StepResult> StepRunner::run(const StepData& data, int64_t examples,
                                           absl::Span<const int64_t> targets) {
  after_backward_ = absl::OkStatus();
  std::optional<AnomalyWatch> watch;
  if (detect_anomaly_) watch.emplace(parts_.model.model_parts.parameters);
  absl::StatusOr<StepResult> computed = compute(data, examples, targets);
  if (watch.has_value() && (!computed.ok() || !computed->applied)) log_anomaly(watch->first());
  ASSIGN_OR_RETURN(StepResult result, std::move(computed),
                   absl::StrCat("step ", parts_.context.progress().step + 1));
  result.timings.data_wait = data.wait;
  return result;
}

void StepRunner::log_anomaly(const std::string& first) const {
  const int64_t step = parts_.context.progress().step;
  if (first.empty()) {
    MILLRACE_LOG(WARNING) << "anomaly in the step after step " << step
                          << ": this rank saw no operation with finite inputs and a result that "
                             "was not finite";
  } else {
    MILLRACE_LOG(WARNING) << "anomaly in the step after step " << step
                          << ": the first result that was not finite is that of " << first;
  }
}

absl::StatusOr<StepResult> StepRunner::compute(const StepData& data, int64_t examples,
                                               absl::Span<const int64_t> targets) {
  const Progress& progress = parts_.context.progress();
  const int64_t step = progress.steps_done() + 1;
  TrainedModel& trained = parts_.model;
  parts_.commit.begin_step(step, targets.size());
  if (parts_.tables != nullptr) parts_.tables->begin(Phase::kTrain, step);
  Events events(*this);
  const auto stepping = parts_.context.stepping();
  absl::StatusOr<StepResult> result = absl::InternalError("the step was not run");
  absl::Status status = catch_part_exceptions("the step", [&]() -> absl::Status {
    trained.model->set_report_due(parts_.context.report_due());
    trained.model->begin_step(progress, Phase::kTrain);
    RETURN_IF_ERROR(parts_.hooks.before_step(parts_.context));
    if (parts_.tables != nullptr) RETURN_IF_ERROR(parts_.tables->fetch(data.micro_batches));
    const TrainStepParts step_parts{*trained.model,
                                    trained.model_parts.parameters,
                                    trained.dense_optimizers,
                                    trained.sparse_optimizer.get(),
                                    parts_.commit,
                                    trained.clipping.has_value() ? &*trained.clipping : nullptr,
                                    compute_};
    StepInput input{data.micro_batches, examples, progress, seed_, parts_.context.rank(), targets};
    input.on_device = data.on_device.batches();
    if (trained.average != nullptr) trained.average->before_update();
    result = loss_scaler_ == nullptr ? train_step_->run(step_parts, input, events)
                                     : repeat_until_clean(step_parts, input, events);
    if (trained.average != nullptr && result.ok() && result->applied) {
      trained.average->after_update();
    }
    return result.status();
  });
  if (status.ok() && !parts_.commit.decided()) {
    status = absl::InternalError("the train step did not call the commit exchange");
  }
  if (!status.ok()) {
    // A failure between fetch() and the train step leaves a step open in the tables.
    if (parts_.tables != nullptr) parts_.tables->discard();
    return parts_.commit.decided() ? status : parts_.commit.fail(status);
  }
  return result;
}

absl::StatusOr<StepResult> StepRunner::repeat_until_clean(const TrainStepParts& parts,
                                                          StepInput input, Events& events) {
  LossScaler& scaler = *loss_scaler_;
  Buffers buffers(parts.model);
  const double begun = scaler.scale();
  StepTimings timings;
  for (int64_t repeats = 0;; ++repeats) {
    input.loss_scale = scaler.scale();
    ASSIGN_OR_RETURN(StepResult result, train_step_->run(parts, input, events));
    timings = timings + result.timings;
    // The forward pass does not depend on the scale, and all ranks have the same loss.
    const bool overflow =
        !result.applied && parts.commit.decided() && std::isfinite(result.loss.item<double>());
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
    parts.commit.begin_step(input.progress.steps_done() + 1, input.targets.size());
  }
}

}  // namespace millrace
