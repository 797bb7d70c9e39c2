// Where training stands.
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

// The position of one rank's loop: a value that refers to nothing, and part of every checkpoint.
//
// An epoch is open from its first step until complete_epoch(), a window likewise. Between epochs
// there is no cursor.
struct LoopPosition {
  Progress progress;
  // steps_done() when the open epoch and its open window began.
  int64_t epoch_first_step = 0;
  int64_t window_first_step = 0;
  std::optional<Window> window;  // the last that was opened; none: the data has no windows
  // In the open epoch, after its last step; none: the next epoch begins.
  std::optional<Cursor> cursor;
  // Restored from a number of ranks other than today's, and not read from yet: the cursors of all
  // of them.
  std::vector<Cursor> former_ranks;
  bool data_ended = false;    // no rank has more data in the epoch or window that is open
  bool stream_ended = false;  // no window follows
  bool finished = false;      // training came to its end,
  std::string stopped_for;    // or was stopped by all ranks for this reason

  // Refused steps count, too: they are seen by all ranks.
  int64_t steps_done() const { return progress.step + progress.skipped_steps; }
  // True if an epoch or window is open and steps of it were made.
  bool within_pass() const { return cursor.has_value() && !cursor->window_finished(); }

  // The data of the epoch is open: where training goes on in it, it counts steps as before.
  void open_epoch();
  void open_window(const Window& opened);
  // After a step that read up to `read`. `ended`: no rank has data for another one.
  void after_step(Cursor read, bool ended);
  void complete_window(const Window& completed);
  void complete_epoch();

  // Writes all of it: to `shared` what is the same on all ranks, to `own` this rank's.
  void save(int rank, SharedState* shared, RankState* own) const;
  // `ranks`: of all that wrote, in their order. Errors: DataLoss for damaged parts.
  static absl::StatusOr<LoopPosition> load(const SharedState& shared,
                                           absl::Span<const RankState> ranks, int rank,
                                           int world_size);
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LOOP_POSITION_H_
