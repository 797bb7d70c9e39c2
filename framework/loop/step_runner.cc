#include "framework/loop/step_runner.h"

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "framework/model.h"

namespace millrace {

// Fires the events inside a step.
class StepRunner::Events : public StepObserver {
 public:
  explicit Events(StepRunner& runner) : runner_(runner) {}
  absl::Status after_data(const Batch& batch, int64_t micro_batch) override {
    return runner_.parts_.hooks.after_data(runner_.parts_.context, batch, micro_batch);
  }
  void after_backward(const Gradients& gradients) override {
    runner_.after_backward_ =
        runner_.parts_.hooks.after_backward(runner_.parts_.context, gradients);
  }

 private:
  StepRunner& runner_;
};

absl::StatusOr<StepResult> StepRunner::run(const StepData& data, int64_t examples) {
  after_backward_ = absl::OkStatus();
  ASSIGN_OR_RETURN(StepResult result, compute(data, examples),
                   absl::StrCat("step ", parts_.position.progress.step + 1));
  result.timings.data_wait = data.wait;
  return result;
}

absl::StatusOr<StepResult> StepRunner::compute(const StepData& data, int64_t examples) {
  commit_.begin_step(parts_.position.steps_done() + 1);
  Events events(*this);
  absl::StatusOr<StepResult> result = absl::InternalError("the step was not run");
  absl::Status status = catch_exceptions("the step", [&]() -> absl::Status {
    parts_.model.begin_step(parts_.position.progress, Phase::kTrain);
    RETURN_IF_ERROR(parts_.hooks.before_step(parts_.context));
    const TrainStepParts step_parts{parts_.model,
                                    parts_.model_parts.parameters,
                                    parts_.dense_optimizers,
                                    parts_.sparse_optimizer,
                                    commit_,
                                    parts_.clipping};
    const StepInput input{data.micro_batches, examples, parts_.position.progress, seed_,
                          parts_.context.rank()};
    result = parts_.train_step.run(step_parts, input, events);
    return result.status();
  });
  if (status.ok() && !commit_.decided()) {
    status = absl::InternalError("the train step did not call the commit exchange");
  }
  if (!status.ok()) return commit_.decided() ? status : commit_.fail(status);
  return result;
}

}  // namespace millrace
