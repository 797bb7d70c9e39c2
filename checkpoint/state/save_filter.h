// What savers are told to leave out.
#ifndef MILLRACE_CHECKPOINT_STATE_SAVE_FILTER_H_
#define MILLRACE_CHECKPOINT_STATE_SAVE_FILTER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/state/row_filter.h"
#include "checkpoint/train_state.h"

namespace millrace {

// Whether each of these patterns (optim/name_pattern.h) fits a dense tensor or a table of `state`.
// Errors: InvalidArgument for one that does not, with the nearest name.
absl::Status check_save_filter(const TrainState& state, const std::vector<std::string>& exclude);

// Checks that each pattern of the row filter fits a table of `state`. Errors: InvalidArgument for
// one that does not, with the nearest name.
absl::Status check_filtered_tables(const TrainState& state, const TableRowFilter& filter);

// `state` without the dense tensors and tables that a pattern fits, which are added to left_out,
// and without what the last report said of those tables. Their counters stay.
TrainState filter_state(TrainState state, const std::vector<std::string>& exclude);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_SAVE_FILTER_H_
