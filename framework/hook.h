// The open loop: everything that happens in training beside the steps themselves is a Hook.
#ifndef MILLRACE_FRAMEWORK_HOOK_H_
#define MILLRACE_FRAMEWORK_HOOK_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "checkpoint/checkpointable.h"
#include "framework/cadence.h"
#include "framework/events.h"
#include "framework/phase.h"
#include "framework/report/distribution.h"
#include "framework/report/reduction.h"
#include "framework/requests.h"
#include "io/batch.h"

namespace millrace {

class RequestQueue;

// What a hook sees and may ask. Made by the trainer; valid during the event only.
class HookContext {
 public:
  virtual ~HookContext() = default;
  virtual Phase phase() const = 0;
  virtual const Progress& progress() const = 0;
  virtual bool windowed() const = 0;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  // Whether the cadence came due since the last serving point. at_start is due in `start`,
  // at_end in `end`. It costs nothing and remembers nothing: all who ask get the same answer.
  virtual bool due(const Cadence& cadence) const = 0;
  Requests& requests();
  // Adds a value to the next report, or to the result of the evaluation that runs.
  virtual void report(absl::string_view name, double value,
                      Reduction reduction = Reduction::kMean) = 0;
  // Adds a histogram to the next report; a later one of the same name replaces it. Ignored in
  // evaluation.
  virtual void report_distribution(absl::string_view name, Distribution distribution) = 0;
  // Returns whether a report follows this step, for values that are expensive to compute. Before
  // after_step it knows reports that are due every so many steps, and not those that are due by
  // time, at the end of an epoch or window, or of the run. True in evaluation.
  virtual bool report_due() const = 0;

 private:
  friend class HookList;  // which sets whose event runs
  // Where requests() adds.
  virtual RequestQueue& request_queue() = 0;
};

// State of one hook in a checkpoint; an empty one is not kept.
using HookState = ObjectState;

// Watches the loop and asks for things; the trainer acts. Every event does nothing by default.
// All calls come from the trainer's thread, in this nesting:
//
//   start                               once per train() or evaluate()
//     before_epoch
//       before_window                   windowed data only
//         before_step                   a batch is certain
//           after_data                  once per micro-batch, before its forward pass
//           after_backward              gradients are complete and finite; nothing is updated yet
//         after_step                    Progress already counts this step
//         out_of_data(window)           all ranks agree: this window has no more data
//       after_window
//       out_of_data(epoch or stream)    all ranks agree: the epoch or stream has no more data
//     after_epoch
//     after_report                      whenever a report is due
//     after_evaluate                    whenever an evaluation finished
//     after_checkpoint                  whenever a checkpoint is durable
//   end                                 once per hook whose start succeeded, also after a failure
//
// Events that open a scope (start, before_*) run from the first hook to the last and stop at the
// first error; those that close one (after_*, out_of_data, end) run from the last to the first,
// reach every hook and keep the first error. An error ends the run, prefixed by the hook's name.
//
// out_of_data, after_window and after_epoch fire only for scopes that completed: after a stop, a
// limit or a failure none of them follows. An epoch that max_steps_per_epoch cut short completes
// without out_of_data. A refused (non-finite) step has no after_backward, and after_step with
// applied = false. An evaluation inside training fires before_step, after_data, after_step with
// phase() == kEvaluate, then after_evaluate; one called on its own also start, before_epoch,
// out_of_data(epoch), after_epoch and end.
class Hook {
 public:
  virtual ~Hook() = default;

  // Unique in a trainer; keys this hook's state in checkpoints and prefixes its errors.
  virtual absl::string_view name() const = 0;

  virtual absl::Status start(HookContext& context);
  virtual absl::Status before_epoch(HookContext& context);
  virtual absl::Status before_window(HookContext& context, const Window& window);
  virtual absl::Status before_step(HookContext& context);
  virtual absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch);
  virtual absl::Status after_backward(HookContext& context, const Gradients& gradients);
  virtual absl::Status after_step(HookContext& context, const StepResult& result);
  virtual absl::Status out_of_data(HookContext& context, DataEnd what);
  virtual absl::Status after_window(HookContext& context, const Window& window);
  virtual absl::Status after_epoch(HookContext& context);
  virtual absl::Status after_report(HookContext& context, const Report& report);
  virtual absl::Status after_evaluate(HookContext& context, const EvaluationResult& result);
  virtual absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint);
  // `outcome` is what train() or evaluate() will return: OK after a completed or stopped run.
  // Requests made here are ignored.
  virtual absl::Status end(HookContext& context, const absl::Status& outcome);

  // State that the hook's later behaviour depends on; stateless by default.
  virtual absl::Status save_state(HookState& state) const;
  // Between runs: one state for each rank that wrote one, in the order of ranks. What the hook gave
  // with save_state it must take back, also to undo a load. After an error it must be as before.
  virtual absl::Status load_state(absl::Span<const HookState> per_rank);
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_HOOK_H_
