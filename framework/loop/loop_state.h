// The state of the loop: its position, its stop, and whether the state of training is consistent.
#ifndef MILLRACE_FRAMEWORK_LOOP_LOOP_STATE_H_
#define MILLRACE_FRAMEWORK_LOOP_LOOP_STATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "distributed/collectives.h"
#include "framework/loop/limits.h"
#include "io/cursor.h"
#include "io/windowed_dataset.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// The position of one rank's loop: a plain value, and part of every checkpoint.
//
// An epoch is open from its first step until complete_epoch(), a window until complete_window().
// Between epochs a cursor exists only if the next epoch continues a stream.
struct LoopPosition {
  Progress progress;
  // Values of steps_done() at the beginning of the open epoch and of its open window.
  int64_t epoch_first_step = 0;
  int64_t window_first_step = 0;
  int64_t epoch_first_window = 0;  // value of Progress::window at the beginning of the open epoch
  std::optional<Window> window;    // opened last; none: the data has no windows
  // Cursor in the open epoch, after its last step; none: the next epoch begins.
  std::optional<Cursor> cursor;
  // Cursors of all ranks of a checkpoint from a different number of ranks; empty after data was
  // read from these cursors.
  std::vector<Cursor> former_ranks;
  bool data_ended = false;    // the data of the open epoch or window has no further step
  bool stream_ended = false;  // no window follows
  bool finished = false;      // training is finished
  std::string stopped_for;    // reason of the stop; "": none

  // Returns Progress::steps_done().
  int64_t steps_done() const { return progress.steps_done(); }
  // Returns true if steps of an open epoch or window were made.
  bool within_pass() const { return cursor.has_value() && !cursor->window_finished(); }

  // Called when the data of the epoch is open. An epoch that training resumes keeps its step
  // counts.
  void open_epoch();
  void open_window(const Window& opened);
  // Called after a step that read up to `read`. `ended`: true if the data has no further step.
  void after_step(Cursor read, bool ended);
  void complete_window(const Window& completed);
  // `stream_continues`: if true, the next epoch has the following windows of the stream.
  void complete_epoch(bool stream_continues = false);

  // Writes the position: the parts equal on all ranks to `shared`, the parts of this rank to `own`.
  void save(int rank, SharedState* shared, RankState* own) const;
  // Reads the position. `ranks`: the states of all ranks that wrote, in order. Errors: DataLoss for
  // damaged parts.
  static absl::StatusOr<LoopPosition> load(const SharedState& shared,
                                           absl::Span<const RankState> ranks, int rank,
                                           int world_size);
};

// The stop of one run, equal on all ranks. RequestServer sets it; the loop ends after the step.
struct StopState {
  bool stopped = false;
  // If true, one rank alone asked to stop (a signal): the job should be run again, and work at the
  // end of training is left to that run.
  bool by_rank = false;
  std::string reason;  // of the first stop
};

// Consistency of the state of training: holds() is true while model, optimizers, tables, position
// and hooks are all at the end of the same step, so that a run that fails can save the state. A
// step, an event and the serving of requests suspend consistency, because a failure within them may
// leave hooks or requests incomplete.
class Consistency {
 public:
  bool holds() const { return holds_; }

  // Marks the state as consistent, between two steps. Called when a run begins and after a state
  // was restored.
  void begin_run() { holds_ = true; }

  // Calls `body`, during which holds() is false. If `body` succeeds, restores the value of holds();
  // after an error or an exception, holds() remains false. Returns the status of `body`.
  absl::Status suspend(absl::FunctionRef<absl::Status()> body) {
    const bool before = std::exchange(holds_, false);
    absl::Status status = body();
    if (status.ok()) holds_ = before;
    return status;
  }

 private:
  bool holds_ = true;
};

// The state that the parts of one loop share. Used on the trainer's thread.
struct LoopState {
  LoopPosition position;
  Limits limits;                  // of the run under way: limits_of_run()
  int64_t windows_per_epoch = 0;  // TrainerOptions::max_windows_per_epoch
  StopState stop;
  Consistency consistency;

  // Returns true if the open epoch has all its windows and is to be closed.
  bool epoch_is_full() const {
    return windows_per_epoch > 0 &&
           position.progress.window - position.epoch_first_window >= windows_per_epoch;
  }
};

// Reports `phase` to the other ranks on construction and `after` on destruction, each with the
// current step. Borrows both references.
class PhaseScope {
 public:
  PhaseScope(Collectives& ranks, const Progress& progress, RankPhase phase,
             RankPhase after = RankPhase::kBetweenSteps)
      : ranks_(ranks), progress_(progress), after_(after) {
    ranks_.set_phase(phase, progress_.steps_done());
  }
  ~PhaseScope() { ranks_.set_phase(after_, progress_.steps_done()); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Collectives& ranks_;
  const Progress& progress_;
  const RankPhase after_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_STATE_H_
