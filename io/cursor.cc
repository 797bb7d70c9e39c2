#include "io/cursor.h"

#include <algorithm>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

// Adds an interval beginning at or after the end of the last interval, and joins adjacent
// intervals.
void append_interval(RowInterval interval, std::vector<RowInterval>* intervals) {
  if (interval.begin >= interval.end) return;
  if (!intervals->empty() && intervals->back().end == interval.begin) {
    intervals->back().end = interval.end;
  } else {
    intervals->push_back(interval);
  }
}

int64_t share_begin(int64_t rows, int64_t rank, int64_t world_size) {
  return static_cast<int64_t>(absl::int128(rows) * rank / world_size);
}

}  // namespace

const std::vector<RowInterval>& Cursor::rows_left() const {
  static const std::vector<RowInterval>* const none = new std::vector<RowInterval>();
  const auto* rows = std::get_if<std::vector<RowInterval>>(&left);
  return rows == nullptr ? *none : *rows;
}

int64_t count_rows(absl::Span<const RowInterval> intervals) {
  int64_t rows = 0;
  for (const RowInterval& interval : intervals) rows += interval.end - interval.begin;
  return rows;
}

std::vector<RowInterval> deal_rows(absl::Span<const RowInterval> intervals, int64_t rank,
                                   int64_t world_size) {
  const int64_t rows = count_rows(intervals);
  const int64_t begin = share_begin(rows, rank, world_size);
  const int64_t end = share_begin(rows, rank + 1, world_size);
  std::vector<RowInterval> share;
  int64_t before = 0;  // rows of the intervals already passed
  for (const RowInterval& interval : intervals) {
    const int64_t length = interval.end - interval.begin;
    const int64_t from = std::clamp<int64_t>(begin - before, 0, length);
    const int64_t to = std::clamp<int64_t>(end - before, 0, length);
    append_interval({interval.begin + from, interval.begin + to}, &share);
    before += length;
  }
  return share;
}

absl::StatusOr<std::vector<RowInterval>> merge_rows_left(absl::Span<const PassPosition> ranks,
                                                         int64_t total_rows) {
  std::vector<RowInterval> all;
  for (const PassPosition& rank : ranks) {
    all.insert(all.end(), rank.rows_left.begin(), rank.rows_left.end());
  }
  std::sort(all.begin(), all.end(), [](const RowInterval& a, const RowInterval& b) {
    return a.begin < b.begin || (a.begin == b.begin && a.end < b.end);
  });
  std::vector<RowInterval> merged;
  int64_t last_end = 0;
  for (const RowInterval& interval : all) {
    if (interval.begin < last_end || interval.begin >= interval.end || interval.end > total_rows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the cursors do not fit the data: rows [", interval.begin, ", ", interval.end,
          ") are empty, beyond the data's ", total_rows, " rows or in two cursors"));
    }
    last_end = interval.end;
    append_interval(interval, &merged);
  }
  return merged;
}

}  // namespace millrace
