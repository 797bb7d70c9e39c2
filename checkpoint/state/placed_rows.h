// Rows of tables that all ranks together read from one place.
#ifndef MILLRACE_CHECKPOINT_STATE_PLACED_ROWS_H_
#define MILLRACE_CHECKPOINT_STATE_PLACED_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "distributed/collectives.h"

namespace millrace {

// Rows of one table that a rank read from a checkpoint or a file.
struct PlacedRows {
  std::string what;  // for messages: the place and the table; the same on all ranks
  int64_t here = 0;  // rows of this rank
  int64_t due = 0;   // rows of all ranks; the same on all ranks
};

// Checks that the rows of all ranks add up to `due`. Errors: DataLoss naming the place.
absl::Status check_placed_rows(const PlacedRows& all_ranks);

// Reports the result of loading to all ranks and checks that the rows of all ranks add up. All
// ranks call this function at the same point, with the same places in the same order. `identity`:
// an identifier of the loaded content, such as the digest of a manifest. `identity` and `rows` are
// ignored if `own` is an error.
// Errors, the same on all ranks: the error of the lowest rank that has one; InvalidArgument if
// ranks loaded different content; DataLoss as for check_placed_rows(); any error of the
// collectives.
absl::Status agree_on_loading(const absl::Status& own, absl::string_view identity,
                              const std::vector<PlacedRows>& rows, Collectives& ranks);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_PLACED_ROWS_H_
