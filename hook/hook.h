// Interface of hooks, which extend training: everything in the loop except the steps is done by
// hooks.
#ifndef MILLRACE_HOOK_HOOK_H_
#define MILLRACE_HOOK_HOOK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "checkpoint/state/checkpointable.h"
#include "hook/cadence.h"
#include "hook/events.h"
#include "hook/phase.h"
#include "hook/reported_value.h"
#include "hook/requests.h"
#include "io/batch.h"

namespace millrace {

class RequestQueue;

// Access of a hook to the loop: facts, reports and requests. The trainer owns the context, which is
// valid only during the event.
class HookContext {
 public:
  virtual ~HookContext() = default;
  virtual Phase phase() const = 0;
  virtual const Progress& progress() const = 0;
  virtual bool windowed() const = 0;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  // Returns the number of steps of training over all resumes, where it is known: max_steps, or the
  // steps of max_epochs over files that were counted. Otherwise 0, which is also the default.
  virtual int64_t total_steps() const { return 0; }
  // Returns true if the cadence has triggered since the trainer last served requests. `at_start`
  // triggers in the event `start`, `at_end` in the event `end`. The call is cheap and changes no
  // state, so all hooks get the same answer.
  virtual bool due(const Cadence& cadence) const = 0;
  // Returns the object that takes requests to the trainer.
  Requests& requests();
  // Returns the bytes of each rank, by rank. Collective: the hook calls it on all ranks, in the
  // same event of training; allowed in before_window. A rank on which an earlier hook, or this one,
  // has failed makes it fail on all. Errors: Aborted with the failure of another rank. The default
  // returns `bytes`, as with one rank.
  virtual absl::StatusOr<std::vector<std::string>> gather(absl::string_view bytes) {
    return std::vector<std::string>{std::string(bytes)};
  }
  // Adds a value to the next report or, during an evaluation, to the result of the evaluation.
  virtual void report(absl::string_view name, double value,
                      Reduction reduction = Reduction::kMean) = 0;
  // Adds a histogram to the next report. A later histogram of the same name replaces an earlier
  // one. Ignored in evaluation.
  virtual void report_distribution(absl::string_view name, Distribution distribution) = 0;
  // Returns true if a report follows this step, so that a hook can skip values that are expensive
  // to compute. Before after_step, the answer covers only reports that follow from the step count,
  // not reports at an interval of time or at the end of an epoch, a window or the run. Always true
  // in evaluation.
  virtual bool report_due() const = 0;

 private:
  friend class HookList;  // which sets whose event runs
  // Returns the queue behind requests().
  virtual RequestQueue& request_queue() = 0;
};

// State of one hook in a checkpoint. Checkpoints omit an empty state.
using HookState = ObjectState;

// Observes the loop and makes requests, on which the trainer acts. The default of every event does
// nothing. All calls come from the trainer's thread, in this nesting:
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
// Events that open a scope (start, before_*) call the hooks from first to last and stop at the
// first error. Events that close a scope (after_*, out_of_data, end) call the hooks from last to
// first, reach every hook and keep the first error. An error, prefixed by the hook's name, ends the
// run on all ranks, unless the hook's OnError tolerates errors.
//
// out_of_data, after_window and after_epoch are called only for scopes that completed, so none of
// them follows a stop, a limit or a failure. An epoch that max_steps_per_epoch cuts short completes
// without out_of_data. A refused (non-finite) step has no after_backward, and its after_step has
// applied = false. An evaluation inside training calls before_step, after_data and after_step with
// phase() == kEvaluate, then after_evaluate. A separate evaluation also calls start, before_epoch,
// out_of_data(epoch), after_epoch and end; of data in windows the events of windows, too, and no
// out_of_data(epoch). predict() does the same without after_evaluate.
class Hook {
 public:
  virtual ~Hook() = default;

  // Returns the name, which is unique in a trainer, identifies the hook's state in checkpoints and
  // prefixes the hook's errors.
  virtual absl::string_view name() const = 0;

  // Called when a run begins, before a batch is read. An error ends the run without a step. The
  // hooks after this one are not started, and a hook that was not started gets no `end`.
  virtual absl::Status start(HookContext& context);
  // Called when an epoch is open, before its first step; again for the rest of an epoch that a
  // resumed run continues. An error ends the run before the epoch's first step.
  virtual absl::Status before_epoch(HookContext& context);
  // Called when a window is open, before the progressive evaluation and the first step of the
  // window; again for the rest of a window that a resumed run continues. Ranks wait for one another
  // without a time-out. An error ends the run before this step.
  virtual absl::Status before_window(HookContext& context, const Window& window);
  // Called when the data of a step has been read, before the forward pass; in an evaluation before
  // each batch. An error discards the step on all ranks and ends the run.
  virtual absl::Status before_step(HookContext& context);
  // Called once per micro-batch, before its forward pass. The batch is read-only: a change of its
  // size or, by an operator of LibTorch, of a tensor is an error of this hook. An error discards
  // the step on all ranks and ends the run.
  virtual absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch);
  // Called once per step, when all ranks have agreed to apply it, before the update. After an error
  // the update still happens, as on the other ranks; then the run ends without after_step.
  virtual absl::Status after_backward(HookContext& context, const Gradients& gradients);
  // Called after the update of a step or after its refusal, before requests are served; in an
  // evaluation after each batch. An error ends the run. The step remains applied.
  virtual absl::Status after_step(HookContext& context, const StepResult& result);
  // Called after the last step of a window, an epoch or a stream of windows that has no more data
  // on any rank, before after_window or after_epoch. An error ends the run. The scope is not
  // counted as complete, and its closing event is omitted.
  virtual absl::Status out_of_data(HookContext& context, DataEnd what);
  // Called when a window is complete and progress() counts it, before a report and requests that
  // are due. An error ends the run.
  virtual absl::Status after_window(HookContext& context, const Window& window);
  // Called when an epoch is complete and progress() counts it, before a report and requests that
  // are due. An error ends the run.
  virtual absl::Status after_epoch(HookContext& context);
  // Called with each report that the cadence of reports triggers, before requests are served. An
  // error ends the run.
  virtual absl::Status after_report(HookContext& context, const Report& report);
  // Called when an evaluation is complete; an evaluation that a stop interrupts has no result and
  // no event. During train(), phase() is kTrain again, and requests made here are served at the
  // same point; those about a window that training will read next, after its first step. An error
  // ends the run.
  virtual absl::Status after_evaluate(HookContext& context, const EvaluationResult& result);
  // Called when a checkpoint is durable, in the order of steps; an asynchronous save may be of an
  // earlier step. An error ends the run. The checkpoint remains.
  virtual absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint);
  // Called last, also after a failure, if the hook's start succeeded. `outcome` is the status that
  // train() or evaluate() will return, as far as it is known: OK after a completed or stopped run,
  // unless the `end` of a hook before this one failed. The `end` of a hook after this one may still
  // fail. Requests made in this event are ignored. An error becomes the status of the run if
  // `outcome` is OK.
  virtual absl::Status end(HookContext& context, const absl::Status& outcome);

  // Writes the state on which the hook's later behaviour depends. Called on every rank for each
  // checkpoint. An error fails the save and ends the run. The default writes nothing.
  virtual absl::Status save_state(HookState& state) const;
  // Replaces the hook's state, between runs. `per_rank` holds the states that ranks wrote, in the
  // order of ranks. The hook must accept every state from save_state(), also to undo a load. After
  // an error the state must be unchanged. The default does nothing.
  virtual absl::Status load_state(absl::Span<const HookState> per_rank);
};

}  // namespace millrace

#endif  // MILLRACE_HOOK_HOOK_H_
