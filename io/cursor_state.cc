#include "io/cursor_state.h"

#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int kMaxDepth = 2;  // of parts: the sources of a mix, and the passes of a source

absl::StatusOr<Cursor> read_state(const CursorState& state, int depth);

absl::Status read_parts(const CursorState& state, int depth, Cursor* cursor) {
  if (state.part_size() > 0 && depth == kMaxDepth) {
    return absl::DataLossError("a cursor is damaged: its parts have parts without end");
  }
  for (const CursorState& part : state.part()) {
    ASSIGN_OR_RETURN(cursor->parts.emplace_back(), read_state(part, depth + 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<Cursor> read_state(const CursorState& state, int depth) {
  Cursor cursor;
  cursor.epoch = state.epoch();
  cursor.fingerprint = state.fingerprint();
  cursor.window = state.window();
  cursor.window_finished = state.window_finished();
  cursor.stream = state.stream();
  cursor.batches = state.batches();
  if (cursor.window < 0) return absl::DataLossError("a cursor is damaged: its window is negative");
  if (cursor.batches < 0) {
    return absl::DataLossError("a cursor is damaged: its count of batches is negative");
  }
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
  RETURN_IF_ERROR(read_parts(state, depth, &cursor));
  return cursor;
}

}  // namespace

CursorState to_state(const Cursor& cursor) {
  CursorState state;
  state.set_epoch(cursor.epoch);
  state.set_fingerprint(cursor.fingerprint);
  if (cursor.window != 0) state.set_window(cursor.window);
  if (cursor.window_finished) state.set_window_finished(true);
  if (!cursor.stream.empty()) state.set_stream(cursor.stream);
  if (cursor.batches != 0) state.set_batches(cursor.batches);
  for (const Cursor& part : cursor.parts) *state.add_part() = to_state(part);
  for (const RowInterval& interval : cursor.rows_left) {
    state.add_begin(interval.begin);
    state.add_end(interval.end);
  }
  return state;
}

absl::StatusOr<Cursor> from_state(const CursorState& state) { return read_state(state, 0); }

}  // namespace millrace
