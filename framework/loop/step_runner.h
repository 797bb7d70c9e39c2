// Runs one step of training.
#ifndef MILLRACE_FRAMEWORK_LOOP_STEP_RUNNER_H_
#define MILLRACE_FRAMEWORK_LOOP_STEP_RUNNER_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "framework/loop/batch_feed.h"
#include "framework/loop/hook_list.h"
#include "framework/loop/loop_context.h"
#include "framework/loop/train_step.h"
#include "framework/loop/trained_model.h"
#include "framework/precision/loss_scaler.h"
#include "framework/ranks/commit_exchange.h"
#include "framework/ranks/table_exchange.h"
#include "proto/config.pb.h"

namespace millrace {

// Runs the train step with its events, from before_step to the update. Rows of tables sharded over
// ranks are fetched after before_step, once for all micro-batches. The ranks decide in the commit
// exchange whether to apply the step. An applied step updates the moving average.
//
// With FLOAT16, a step with a finite loss and non-finite gradients is recomputed with the same
// batches, random numbers and buffers of the model, at a lower scale, until the step is applied or
// the scale is the lowest. Hooks see one step. Used on the trainer's thread.
class StepRunner {
 public:
  // Parts of the loop. All are borrowed and outlive this object.
  struct Parts {
    TrainedModel& model;
    CommitExchange& commit;
    HookList& hooks;
    LoopContext& context;
    TableExchange* tables = nullptr;  // null: tables are not sharded over ranks
  };

  // `detect_anomaly`: if true, a refused step is logged with the first operation whose result was
  // not finite. REQUIRES: check_precision() accepts `precision`; with FLOAT16, `train_step` can
  // repeat.
  StepRunner(const Parts& parts, std::unique_ptr<TrainStep> train_step, uint64_t seed,
             const PrecisionConfig& precision, bool detect_anomaly = false);

  // Runs the step after the current position. `examples` and, if the model counts targets,
  // `targets` of each task cover all ranks. Collective: a rank that fails before the decision of
  // the ranks takes part in the decision as failed. Errors: of the model, the optimizers and hooks,
  // annotated with the step; Internal if the train step did not call the commit exchange.
  absl::StatusOr<StepResult> run(const StepData& data, int64_t examples,
                                 absl::Span<const int64_t> targets = {});

  // Returns the scaler of the loss, whose state checkpoints include; null without FLOAT16.
  LossScaler* loss_scaler() { return loss_scaler_.get(); }

  // Returns the status of after_backward in the last step. During that event other ranks may
  // already update, so this rank completes the step before an error ends the run.
  const absl::Status& after_backward_status() const { return after_backward_; }

 private:
  class Events;
  // Logs the operation that AnomalyWatch found; "": none.
  void log_anomaly(const std::string& first) const;
  absl::StatusOr<StepResult> compute(const StepData& data, int64_t examples,
                                     absl::Span<const int64_t> targets);
  absl::StatusOr<StepResult> repeat_until_clean(const TrainStepParts& parts, StepInput input,
                                                Events& events);

  const Parts parts_;
  const std::unique_ptr<TrainStep> train_step_;
  const uint64_t seed_;
  const PrecisionConfig::Compute compute_;
  const bool detect_anomaly_;
  std::unique_ptr<LossScaler> loss_scaler_;  // null: losses are not scaled
  absl::Status after_backward_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_STEP_RUNNER_H_
