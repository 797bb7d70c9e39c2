// Position of training in the data.
#ifndef MILLRACE_FRAMEWORK_LOOP_LOOP_POSITION_H_
#define MILLRACE_FRAMEWORK_LOOP_LOOP_POSITION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "base/progress.h"
#include "io/cursor.h"
#include "io/windowed_dataset.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// The position of one rank's loop: a plain value, and part of every checkpoint.
//
// An epoch is open from its first step until complete_epoch(), a window until complete_window(). No
// cursor exists between epochs.
struct LoopPosition {
  Progress progress;
  // Values of steps_done() at the beginning of the open epoch and of its open window.
  int64_t epoch_first_step = 0;
  int64_t window_first_step = 0;
  std::optional<Window> window;  // opened last; none: the data has no windows
  // Cursor in the open epoch, after its last step; none: the next epoch begins.
  std::optional<Cursor> cursor;
  // Cursors of all ranks of a checkpoint from a different number of ranks; empty after data was
  // read from these cursors.
  std::vector<Cursor> former_ranks;
  bool data_ended = false;    // the data of the open epoch or window has no further step
  bool stream_ended = false;  // no window follows
  bool finished = false;      // training is finished
  std::string stopped_for;    // reason of the stop; "": none

  // Returns the number of steps, including refused steps, which all ranks count too.
  int64_t steps_done() const { return progress.step + progress.skipped_steps; }
  // Returns true if steps of an open epoch or window were made.
  bool within_pass() const { return cursor.has_value() && !cursor->window_finished(); }

  // Called when the data of the epoch is open. An epoch that training resumes keeps its step
  // counts.
  void open_epoch();
  void open_window(const Window& opened);
  // Called after a step that read up to `read`. `ended`: true if the data has no further step.
  void after_step(Cursor read, bool ended);
  void complete_window(const Window& completed);
  void complete_epoch();

  // Writes the position: the parts equal on all ranks to `shared`, the parts of this rank to `own`.
  void save(int rank, SharedState* shared, RankState* own) const;
  // Reads the position. `ranks`: the states of all ranks that wrote, in order. Errors: DataLoss for
  // damaged parts.
  static absl::StatusOr<LoopPosition> load(const SharedState& shared,
                                           absl::Span<const RankState> ranks, int rank,
                                           int world_size);
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_POSITION_H_
