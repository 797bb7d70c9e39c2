#include "io/cursor_state.h"

#include <algorithm>
#include <vector>

#include "absl/types/span.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int kMaxDepth = 2;  // of parts: the sources of a mix, and the passes of a source

absl::StatusOr<std::vector<RowInterval>> read_rows(const CursorState& state) {
  if (state.begin_size() != state.end_size()) {
    return absl::DataLossError("a cursor is damaged: an interval of rows has no end");
  }
  std::vector<RowInterval> rows;
  int64_t last = -1;
  for (int i = 0; i < state.begin_size(); ++i) {
    if (state.begin(i) <= last || state.end(i) <= state.begin(i)) {
      return absl::DataLossError("a cursor is damaged: its intervals of rows are out of order");
    }
    rows.push_back({state.begin(i), state.end(i)});
    last = state.end(i);
  }
  return rows;
}

absl::StatusOr<PassPosition> read_pass(const CursorState& state) {
  PassPosition pass{.epoch = state.epoch(),
                    .fingerprint = state.fingerprint(),
                    .bad_rows = std::max<int64_t>(0, state.bad_rows())};
  ASSIGN_OR_RETURN(pass.rows_left, read_rows(state));
  return pass;
}

// Reads the passes of a source: the first is the message itself, the others are its parts.
absl::StatusOr<SourcePosition> read_source(const CursorState& state) {
  SourcePosition passes;
  ASSIGN_OR_RETURN(passes.emplace_back(), read_pass(state));
  for (const CursorState& later : state.part()) {
    if (later.part_size() > 0) {
      return absl::DataLossError("a cursor is damaged: its parts have parts without end");
    }
    ASSIGN_OR_RETURN(passes.emplace_back(), read_pass(later));
  }
  return passes;
}

absl::StatusOr<MixPosition> read_mix(const CursorState& state) {
  if (state.begin_size() > 0) {
    return absl::DataLossError("a cursor is damaged: it has rows and parts");
  }
  MixPosition mix{.batches = state.batches()};
  for (const CursorState& source : state.part()) {
    ASSIGN_OR_RETURN(mix.sources.emplace_back(), read_source(source));
  }
  return mix;
}

void write_rows(absl::Span<const RowInterval> rows, CursorState* state) {
  for (const RowInterval& interval : rows) {
    state->add_begin(interval.begin);
    state->add_end(interval.end);
  }
}

void write_pass(const PassPosition& pass, CursorState* state) {
  state->set_epoch(pass.epoch);
  state->set_fingerprint(pass.fingerprint);
  if (pass.bad_rows != 0) state->set_bad_rows(pass.bad_rows);
  write_rows(pass.rows_left, state);
}

void write_mix(const MixPosition& mix, CursorState* state) {
  if (mix.batches != 0) state->set_batches(mix.batches);
  for (const SourcePosition& source : mix.sources) {
    CursorState* part = state->add_part();
    write_pass(source.front(), part);
    for (size_t i = 1; i < source.size(); ++i) write_pass(source[i], part->add_part());
  }
}

void write_stream(const StreamPosition& stream, CursorState* state) {
  // Any non-default field marks the presence of a position in a stream.
  const bool has_others = stream.finished || !stream.bytes.empty();
  if (stream.window != 0 || !has_others) state->set_window(stream.window);
  if (stream.finished) state->set_window_finished(true);
  if (!stream.bytes.empty()) state->set_stream(stream.bytes);
}

}  // namespace

CursorState to_state(const Cursor& cursor) {
  CursorState state;
  state.set_epoch(cursor.epoch);
  state.set_fingerprint(cursor.fingerprint);
  if (cursor.bad_rows != 0) state.set_bad_rows(cursor.bad_rows);
  if (cursor.stream.has_value()) write_stream(*cursor.stream, &state);
  if (cursor.mix() != nullptr) write_mix(*cursor.mix(), &state);
  write_rows(cursor.rows_left(), &state);
  return state;
}

absl::StatusOr<Cursor> from_state(const CursorState& state) {
  if (state.window() < 0) return absl::DataLossError("a cursor is damaged: its window is negative");
  if (state.batches() < 0) {
    return absl::DataLossError("a cursor is damaged: its count of batches is negative");
  }
  Cursor cursor{.epoch = state.epoch(),
                .fingerprint = state.fingerprint(),
                .bad_rows = std::max<int64_t>(0, state.bad_rows())};
  if (state.part_size() > 0 || state.batches() > 0) {
    ASSIGN_OR_RETURN(cursor.left, read_mix(state));
  } else {
    ASSIGN_OR_RETURN(cursor.left, read_rows(state));
  }
  if (state.has_window() || state.window_finished() || state.has_stream()) {
    cursor.stream = {state.window(), state.window_finished(), state.stream()};
  }
  return cursor;
}

}  // namespace millrace
