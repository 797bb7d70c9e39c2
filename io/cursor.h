// A position in the data.
#ifndef MILLRACE_IO_CURSOR_H_
#define MILLRACE_IO_CURSOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace {

// Places [begin, end) in the order of an epoch: block after block, and within a block in its
// shuffled order. See io/epoch/epoch_plan.h.
struct RowInterval {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const RowInterval&, const RowInterval&) = default;
};

// One rank's position just after a batch: what of an epoch it has yet to read. Everything
// else (which rows a block holds, and in which order) follows from the seed, the epoch and the
// files, so a cursor stays small whatever the size of the data: one interval, and a few more
// for each change of world size within the epoch.
struct Cursor {
  int64_t epoch = 0;
  // What this rank has left: ascending, none empty, none touching the next. The first begins in
  // the open block, at the first row of it that no batch holds yet. Nothing left: none.
  std::vector<RowInterval> rows_left;
  // Says which order of rows the places count in: a hash of the names of the files (without
  // folders), the sizes of their units, shuffle, split, sample and seed. 0: not known, not
  // compared.
  uint64_t fingerprint = 0;
  // Of windowed data: the window (Window::index) that rows_left are of, and whether all ranks are
  // through with it, so that the next one follows.
  int64_t window = 0;
  bool window_finished = false;
  // Which window that is and where the stream stands behind it, as Window::stream.
  std::string stream = "";
  // Of mixed data (io/mix/mixed_dataset.h), whose own rows_left is empty: how many batches of the
  // epoch this rank has had, and a cursor for each source; none: nothing is left. Of a source that
  // repeats: its passes behind the open one that other ranks have begun (io/mix/source_passes.h).
  int64_t batches = 0;
  std::vector<Cursor> parts = {};
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

// The share of `rank`: of `intervals` laid end to end, the piece from rank/world_size of all rows
// to (rank+1)/world_size. Shares differ by one row at most, cover everything and do not overlap.
// REQUIRES: 0 <= rank < world_size.
std::vector<RowInterval> deal_rows(absl::Span<const RowInterval> intervals, int64_t rank,
                                   int64_t world_size);

// The union of what several ranks have left.
// Errors: InvalidArgument if intervals are empty, out of order, overlap or leave [0, total_rows).
absl::StatusOr<std::vector<RowInterval>> merge_rows_left(absl::Span<const Cursor> cursors,
                                                         int64_t total_rows);

int64_t count_rows(absl::Span<const RowInterval> intervals);

}  // namespace millrace

#endif  // MILLRACE_IO_CURSOR_H_
