#include "framework/loop/loop_state.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "checkpoint/state/state_messages.h"
#include "io/cursor_state.h"
#include "io/window/window_cursor.h"

namespace millrace {

void LoopPosition::open_epoch() {
  if (!cursor.has_value()) epoch_first_step = steps_done();
}

void LoopPosition::open_window(const Window& opened) {
  const bool continues = within_pass() && is_in_window(*cursor, &opened);
  if (!continues) window_first_step = steps_done();
  window = opened;
}

void LoopPosition::after_step(Cursor read, bool ended) {
  cursor = std::move(read);
  former_ranks.clear();
  data_ended = ended;
}

void LoopPosition::complete_window(const Window& completed) {
  // Necessary for a window without a step.
  if (!cursor.has_value()) cursor.emplace().epoch = progress.epoch;
  leave_window(completed, *cursor);
  former_ranks.clear();
  data_ended = false;
  ++progress.window;
}

void LoopPosition::complete_epoch(bool stream_continues) {
  if (!stream_continues) cursor.reset();
  former_ranks.clear();
  data_ended = false;
  ++progress.epoch;
  epoch_first_step = steps_done();
  epoch_first_window = progress.window;
}

void LoopPosition::save(int rank, SharedState* shared, RankState* own) const {
  *shared->mutable_progress() = to_state(progress);
  shared->set_epoch_first_step(epoch_first_step);
  if (epoch_first_window > 0) shared->set_epoch_first_window(epoch_first_window);
  shared->set_window_first_step(window_first_step);
  shared->set_data_ended(data_ended);
  shared->set_stream_ended(stream_ended);
  if (finished) shared->set_finished(true);
  if (finished && !stopped_for.empty()) shared->set_stop_reason(stopped_for);
  if (!former_ranks.empty()) {
    for (const Cursor& former : former_ranks) {
      if (rank == 0) *own->add_cursor() = to_state(former);
    }
  } else if (cursor.has_value()) {
    *own->add_cursor() = to_state(*cursor);
  }
}

absl::StatusOr<LoopPosition> LoopPosition::load(const SharedState& shared,
                                                absl::Span<const RankState> ranks, int rank,
                                                int world_size) {
  if (ranks.empty()) return absl::DataLossError("the state has no rank's part");
  LoopPosition position;
  ASSIGN_OR_RETURN(position.progress, from_state(shared.progress()));
  std::vector<Cursor> cursors;
  for (const RankState& state : ranks) {
    for (const CursorState& cursor : state.cursor()) {
      ASSIGN_OR_RETURN(cursors.emplace_back(), from_state(cursor));
    }
  }
  position.epoch_first_step = shared.epoch_first_step();
  position.epoch_first_window = shared.epoch_first_window();
  position.window_first_step = shared.window_first_step();
  position.data_ended = shared.data_ended();
  position.stream_ended = shared.stream_ended();
  position.finished = shared.finished();
  position.stopped_for = shared.stop_reason();
  if (cursors.empty()) return position;
  position.cursor = cursors[std::min(static_cast<size_t>(rank), cursors.size() - 1)];
  if (static_cast<int>(cursors.size()) != world_size) position.former_ranks = std::move(cursors);
  return position;
}

}  // namespace millrace
