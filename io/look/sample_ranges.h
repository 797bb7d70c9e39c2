// The rows of a file that a sample reads.
#ifndef MILLRACE_IO_LOOK_SAMPLE_RANGES_H_
#define MILLRACE_IO_LOOK_SAMPLE_RANGES_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "io/file_reader.h"

namespace millrace {

// Returns all rows, in ranges of at most `range_rows` rows, each within a row group.
// REQUIRES: range_rows > 0.
std::vector<RowRange> all_ranges(absl::Span<const int64_t> group_rows, int64_t range_rows);

// Returns `count` ranges of `range_rows` rows whose begins are evenly spread over all rows. A range
// ends early where its row group ends. REQUIRES: count * range_rows <= the number of rows.
std::vector<RowRange> spread_ranges(absl::Span<const int64_t> group_rows, int64_t count,
                                    int64_t range_rows);

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_SAMPLE_RANGES_H_
