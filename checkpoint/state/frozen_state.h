// The state of a trainer, held still for whoever saves it.
#ifndef MILLRACE_CHECKPOINT_STATE_FROZEN_STATE_H_
#define MILLRACE_CHECKPOINT_STATE_FROZEN_STATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/state/row_filter.h"
#include "checkpoint/train_state.h"
#include "embedding/rows/undo_budget.h"
#include "embedding/table/table_snapshot.h"

namespace millrace {

// What a TrainState was at one moment.
struct FrozenState {
  std::vector<NamedParameter> dense;              // parameters, then buffers
  std::vector<NamedParameter> optimizer_tensors;  // TrainState::optimizer_tensors
  std::vector<std::unique_ptr<TableSnapshot>> tables;
  SharedState shared;
  RankState rank;
  std::vector<std::string> left_out = {};  // TrainState::left_out

  // Of its files, about: what is in memory beside tensors and rows counts little and in part.
  int64_t size_bytes() const;
};

// In files, of each row beside weights and slots: id, frequency and last step.
inline constexpr int64_t kRowStateBytes = 24;

// A view: what `state` refers to must stay as it is.
FrozenState view_state(const TrainState& state);

// Copies what is dense and freezes the tables: training may continue. Tables stay frozen as long as
// the result, or who takes its snapshots, lives or until they have been read.
// REQUIRES: earlier snapshots of the tables have been read (TableContent::freeze).
// Errors: ResourceExhausted if memory runs out; no table is frozen then.
absl::StatusOr<FrozenState> freeze_state(const TrainState& state,
                                         std::shared_ptr<UndoBudget> budget, ThreadPool& threads);

// Removes the rows that the filter omits. To be called before training continues and before
// anything of `frozen` is read.
void select_rows(const TableRowFilter& filter, FrozenState* frozen, ThreadPool& threads);

// Memory of the rows of all tables of `state`, weights and slots.
int64_t row_bytes(const TrainState& state);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_FROZEN_STATE_H_
