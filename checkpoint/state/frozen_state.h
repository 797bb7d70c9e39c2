// A state of a trainer that stays fixed while it is saved.
#ifndef MILLRACE_CHECKPOINT_STATE_FROZEN_STATE_H_
#define MILLRACE_CHECKPOINT_STATE_FROZEN_STATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/state/row_filter.h"
#include "checkpoint/state/train_state.h"
#include "embedding/rows/undo_budget.h"
#include "embedding/table/table_snapshot.h"

namespace millrace {

// The content of a TrainState at one moment.
struct FrozenState {
  std::vector<NamedParameter> dense;              // parameters, then buffers
  std::vector<NamedParameter> optimizer_tensors;  // TrainState::optimizer_tensors
  std::vector<std::unique_ptr<TableSnapshot>> tables;
  SharedState shared;
  RankState rank;
  std::vector<std::string> left_out = {};  // TrainState::left_out

  // Returns the approximate size of the files. Other data in memory than tensors and rows counts
  // little and only in part.
  int64_t size_bytes() const;
};

// Bytes per row in files, in addition to weights and slots: id, frequency and last step.
inline constexpr int64_t kRowStateBytes = 24;

// Returns a view: everything that `state` refers to must stay unchanged.
FrozenState view_state(const TrainState& state);

// Copies the dense state and freezes the tables, so that training may continue. Tables stay frozen
// until they have been read or their snapshots are destroyed.
// REQUIRES: earlier snapshots of the tables have been read (TableContent::freeze).
// Errors: ResourceExhausted if memory runs out; no table is frozen then.
absl::StatusOr<FrozenState> freeze_state(const TrainState& state,
                                         std::shared_ptr<UndoBudget> budget, ThreadPool& threads);

// Removes the rows that the filter omits. Called before training continues and before any part of
// `frozen` is read.
void select_rows(const TableRowFilter& filter, FrozenState* frozen, ThreadPool& threads);

// Returns the memory of the rows of all tables of `state`, weights and slots.
int64_t row_bytes(const TrainState& state);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_FROZEN_STATE_H_
