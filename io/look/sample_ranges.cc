#include "io/look/sample_ranges.h"

#include <algorithm>
#include <numeric>

namespace millrace {

std::vector<RowRange> all_ranges(absl::Span<const int64_t> group_rows, int64_t range_rows) {
  std::vector<RowRange> ranges;
  for (size_t group = 0; group < group_rows.size(); ++group) {
    for (int64_t begin = 0; begin < group_rows[group]; begin += range_rows) {
      ranges.push_back({.group = static_cast<int64_t>(group),
                        .begin = begin,
                        .count = std::min(range_rows, group_rows[group] - begin)});
    }
  }
  return ranges;
}

std::vector<RowRange> spread_ranges(absl::Span<const int64_t> group_rows, int64_t count,
                                    int64_t range_rows) {
  std::vector<RowRange> ranges;
  const int64_t rows = std::accumulate(group_rows.begin(), group_rows.end(), int64_t{0});
  int64_t group = 0, first_row = 0;  // of the group
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = i * (rows / count);
    while (first_row + group_rows[group] <= row) first_row += group_rows[group++];
    const int64_t begin = row - first_row;
    ranges.push_back(
        {.group = group, .begin = begin, .count = std::min(range_rows, group_rows[group] - begin)});
  }
  return ranges;
}

}  // namespace millrace
