// Omission of tensors and tables from a checkpoint.
#ifndef MILLRACE_CHECKPOINT_STATE_SAVE_FILTER_H_
#define MILLRACE_CHECKPOINT_STATE_SAVE_FILTER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "checkpoint/state/row_filter.h"
#include "checkpoint/state/train_state.h"

namespace millrace {

// Checks that each of these patterns (optim/name_pattern.h) fits a dense tensor or a table of
// `state`. Errors: InvalidArgument for a pattern without a match, with the nearest name.
absl::Status check_save_filter(const TrainState& state, const std::vector<std::string>& exclude);

// Checks that each pattern of the row filter fits a table of `state`. Errors: InvalidArgument for a
// pattern without a match, with the nearest name.
absl::Status check_filtered_tables(const TrainState& state, const TableRowFilter& filter);

// Returns `state` without the dense tensors and tables that a pattern fits, and without the data of
// the last report about these tables. Adds the omitted names to left_out. The tables' counters
// stay.
TrainState filter_state(TrainState state, const std::vector<std::string>& exclude);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_SAVE_FILTER_H_
