// A position in the data.
#ifndef MILLRACE_IO_CURSOR_H_
#define MILLRACE_IO_CURSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace millrace {

// Places [begin, end) in the order of an epoch: block after block, and within a block in its
// shuffled order. See io/epoch/epoch_plan.h. Intervals give ranks shares of equal size to within
// one row, and another number of ranks is arithmetic on intervals.
struct RowInterval {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const RowInterval&, const RowInterval&) = default;
};

// A rank's position in one pass over a set of files: the rows that the rank has yet to read.
struct PassPosition {
  int64_t epoch = 0;  // the epoch by which the pass is shuffled
  // Ascending, none empty, none adjacent to the next. The first interval begins in the open block,
  // at the block's first row that no batch holds yet. Empty: no rows are left.
  std::vector<RowInterval> rows_left = {};
  // The order of rows in which the intervals count: a hash of the names of the files (without
  // folders), the sizes of their units, shuffle, split, sample and seed. 0: unknown, not compared.
  uint64_t fingerprint = 0;
  // Rows that this rank has left out as bad data (DataConfig::SKIP) before the position.
  int64_t bad_rows = 0;
  friend bool operator==(const PassPosition&, const PassPosition&) = default;
};

// A rank's position in a source of mixed data: its open passes, in order. A source that does not
// repeat has one pass; see io/mix/source_passes.h for repeating sources.
using SourcePosition = std::vector<PassPosition>;

// A rank's position in an epoch of mixed data (io/mix/mixed_dataset.h).
struct MixPosition {
  int64_t batches = 0;  // of the epoch, read by this rank
  // The position in each source; no position is empty. No sources: nothing of the epoch is left.
  std::vector<SourcePosition> sources = {};
  friend bool operator==(const MixPosition&, const MixPosition&) = default;
};

// A position in a stream of windows (io/windowed_dataset.h).
struct StreamPosition {
  int64_t window = 0;      // Window::index of the window in which data is left
  bool finished = false;   // all ranks have completed that window, so that the next one follows
  std::string bytes = "";  // Window::stream of that window
  friend bool operator==(const StreamPosition&, const StreamPosition&) = default;
};

// One rank's position just after a batch. The seed, the epoch and the files determine the rows of a
// block and their order, so the size of a cursor does not depend on the size of the data: a cursor
// holds one interval, and a few more for each change of world size within the epoch.
struct Cursor {
  int64_t epoch = 0;
  // The rest of the epoch. Plain data: the rows left, as PassPosition::rows_left. Mixed data: a
  // MixPosition. A rank at the end of the epoch may hold an empty list of rows for either kind of
  // data.
  std::variant<std::vector<RowInterval>, MixPosition> left = {};
  // Plain data: see PassPosition::fingerprint. Mixed data: a hash over all sources.
  uint64_t fingerprint = 0;
  // The position in the stream; set for data in windows only.
  std::optional<StreamPosition> stream = {};
  int64_t bad_rows = 0;  // of plain data, see PassPosition::bad_rows
  friend bool operator==(const Cursor&, const Cursor&) = default;

  // Returns the rows left of plain data; none for mixed data.
  const std::vector<RowInterval>& rows_left() const;
  // Returns the position in mixed data; null for plain data. Lives as long as `left` is unchanged.
  const MixPosition* mix() const { return std::get_if<MixPosition>(&left); }
  // True if the position is behind a window that all ranks have completed.
  bool window_finished() const { return stream.has_value() && stream->finished; }
};

// Returns the share of `rank`: with `intervals` laid end to end, the piece from rank/world_size to
// (rank+1)/world_size of all rows. Shares differ by one row at most, cover everything and do not
// overlap.
// REQUIRES: 0 <= rank < world_size.
std::vector<RowInterval> deal_rows(absl::Span<const RowInterval> intervals, int64_t rank,
                                   int64_t world_size);

// Returns the union of the rows that several ranks have left of one pass.
// Errors: InvalidArgument if intervals are empty, out of order, overlap or leave [0, total_rows).
absl::StatusOr<std::vector<RowInterval>> merge_rows_left(absl::Span<const PassPosition> ranks,
                                                         int64_t total_rows);

int64_t count_rows(absl::Span<const RowInterval> intervals);

}  // namespace millrace

#endif  // MILLRACE_IO_CURSOR_H_
