#include "io/cursor_state.h"

namespace millrace {

CursorState to_state(const Cursor& cursor) {
  CursorState state;
  state.set_epoch(cursor.epoch);
  state.set_fingerprint(cursor.fingerprint);
  if (cursor.window != 0) state.set_window(cursor.window);
  if (cursor.window_finished) state.set_window_finished(true);
  if (!cursor.stream.empty()) state.set_stream(cursor.stream);
  for (const RowInterval& interval : cursor.rows_left) {
    state.add_begin(interval.begin);
    state.add_end(interval.end);
  }
  return state;
}

absl::StatusOr<Cursor> from_state(const CursorState& state) {
  Cursor cursor;
  cursor.epoch = state.epoch();
  cursor.fingerprint = state.fingerprint();
  cursor.window = state.window();
  cursor.window_finished = state.window_finished();
  cursor.stream = state.stream();
  if (cursor.window < 0) return absl::DataLossError("a cursor is damaged: its window is negative");
  if (state.begin_size() != state.end_size()) {
    return absl::DataLossError("a cursor is damaged: an interval of rows has no end");
  }
  int64_t last = -1;
  for (int i = 0; i < state.begin_size(); ++i) {
    if (state.begin(i) <= last || state.end(i) <= state.begin(i)) {
      return absl::DataLossError("a cursor is damaged: its intervals of rows are out of order");
    }
    cursor.rows_left.push_back({state.begin(i), state.end(i)});
    last = state.end(i);
  }
  return cursor;
}

}  // namespace millrace
