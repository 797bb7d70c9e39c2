// Everything the next step depends on.
#ifndef MILLRACE_CHECKPOINT_TRAIN_STATE_H_
#define MILLRACE_CHECKPOINT_TRAIN_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/placed_rows.h"
#include "embedding/table/embedding_table.h"
#include "optim/dense_optimizer.h"
#include "optim/moving_average.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// The state of a trainer between two steps, as Trainer::capture gives it to whoever saves it: a
// view. Tensors, optimizers and tables are the trainer's own and go on changing with the next step;
// messages are copies.
//
//   dense, optimizer_tensors()   by name, the same on all ranks
//   tables                       of each: rows (export_rows, or the store itself),
//                                admission_state(), evicted_log(); this rank's
//   shared                       the same on all ranks: written once
//   rank                         of this rank
struct TrainState {
  std::vector<NamedParameter> dense;  // parameters, then buffers
  std::vector<DenseOptimizer*> dense_optimizers;
  MovingAverage* average = nullptr;     // null: the trainer keeps none
  std::vector<EmbeddingTable*> tables;  // names are unique; rows of this rank
  SharedState shared;
  RankState rank;
  // Dense tensors and tables of the trainer that are not among these
  // (checkpoint/state/save_filter.h), by name, ascending.
  std::vector<std::string> left_out = {};

  // The state of all dense optimizers and of the moving average, by "optimizer/<parameter>/<what>",
  // but for parameters that are left out. Where a tensor is no copy, the next step changes it.
  std::vector<NamedParameter> optimizer_tensors() const;
};

// A state as it was read, on its way into a trainer: nothing of the trainer has changed yet.
struct LoadedState {
  // The names, types and shapes of a TrainState; nothing else refers to the tensors.
  std::vector<NamedParameter> dense;
  std::vector<NamedParameter> optimizer_tensors;
  // Those begin_loading made, filled: load_rows (in as many pieces as it takes),
  // set_admission_state, set_evicted_log. Their counters come from `ranks`.
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  SharedState shared;
  std::vector<RankState> ranks;  // of all ranks that wrote, in their order
  // Dense tensors and tables that were left out when it was saved: they may be missing above, and
  // stay as they are then, with their optimizer state, average and counters, but that such tables
  // count as seen when `ranks` says.
  std::vector<std::string> left_out = {};
  // Where rows of `tables` came from; over all ranks they are to add up.
  std::vector<PlacedRows> rows = {};
};

// A state to fill: an empty table for each of the trainer's, made to be exchanged with it.
LoadedState begin_loading(const TrainState& target);

// Why the tensors and tables of `loaded` are not those of `target`: a line for each name that is
// unknown (with the nearest), missing or there twice, and for each other type or shape. None: they
// fit.
std::vector<std::string> state_differences(const TrainState& target, const LoadedState& loaded);

// What put_state would refuse.
absl::Status check_state(const TrainState& target, int rank, int world_size,
                         const LoadedState& loaded);

// Puts tensors, optimizer state and tables, with this rank's counters, into the trainer that
// `target` was captured from. The tables of `loaded` hold the former content afterwards. Messages
// of `target` are neither read nor changed. Errors: InvalidArgument with all differences; DataLoss
// for damaged counters, FailedPrecondition inside a step; ResourceExhausted without memory for a
// copy of what is dense; those of optimizers. Everything is as it was then, unless a part of it
// cannot be put back: Internal, saying so.
absl::Status put_state(const TrainState& target, int rank, int world_size, LoadedState& loaded);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TRAIN_STATE_H_
