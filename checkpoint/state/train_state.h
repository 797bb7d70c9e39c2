// The complete state that the next step depends on.
#ifndef MILLRACE_CHECKPOINT_STATE_TRAIN_STATE_H_
#define MILLRACE_CHECKPOINT_STATE_TRAIN_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/state/placed_rows.h"
#include "embedding/table/embedding_table.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/moving_average.h"
#include "proto/checkpoint_state.pb.h"

namespace millrace {

// The state of a trainer between two steps, as Trainer::capture() returns it for saving: a view.
// Tensors, optimizers and tables belong to the trainer and change with the next step; messages are
// copies.
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
  // Names of the trainer's dense tensors and tables that this state omits
  // (checkpoint/state/save_filter.h), ascending.
  std::vector<std::string> left_out = {};

  // Returns the state of all dense optimizers and of the moving average, by
  // "optimizer/<parameter>/<what>", except the state of omitted parameters. A tensor that is not a
  // copy changes with the next step.
  std::vector<NamedParameter> optimizer_tensors() const;
};

// A state read from files, on its way into a trainer. Nothing of the trainer has changed yet.
struct LoadedState {
  // The names, types and shapes of a TrainState. No other object refers to the tensors.
  std::vector<NamedParameter> dense;
  std::vector<NamedParameter> optimizer_tensors;
  // The tables that begin_loading() made, after load_rows() (in any number of pieces),
  // set_admission_state() and set_evicted_log(). Their counters come from `ranks`.
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  SharedState shared;
  std::vector<RankState> ranks;  // of all ranks that wrote, in their order
  // Dense tensors and tables that the checkpoint omits; `dense` and `tables` may lack them. The
  // trainer then retains their values, optimizer state, average and counters, except that such
  // tables take the last step from `ranks`.
  std::vector<std::string> left_out = {};
  // Sources of the rows of `tables`. The rows of all ranks must add up.
  std::vector<PlacedRows> rows = {};
};

// Returns an empty state to fill: one empty table per table of the trainer, for a later exchange
// with that table.
LoadedState begin_loading(const TrainState& target);

// Returns the differences between the tensors and tables of `loaded` and of `target`: a line per
// name that is unknown (with the nearest name), missing or duplicate, and per different type or
// shape. Returns an empty vector if the states match.
std::vector<std::string> state_differences(const TrainState& target, const LoadedState& loaded);

// Checks all conditions that put_state() requires. Errors: as put_state() before any change.
absl::Status check_state(const TrainState& target, int rank, int world_size,
                         const LoadedState& loaded);

// Puts tensors, optimizer state and tables, with this rank's counters, into the trainer that
// `target` was captured from. Afterwards the tables of `loaded` hold the trainer's former content.
// Neither reads nor changes the messages of `target`.
// Errors: InvalidArgument with all differences; DataLoss for damaged counters; FailedPrecondition
// inside a step; ResourceExhausted if memory for a copy of the dense state is lacking; any error of
// an optimizer. After an error the trainer is unchanged, unless a part of its state cannot be
// restored: then the error is Internal and says so.
absl::Status put_state(const TrainState& target, int rank, int world_size, LoadedState& loaded);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_TRAIN_STATE_H_
