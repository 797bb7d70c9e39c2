// The state of a trainer, without a trainer, for tests.
#ifndef MILLRACE_CHECKPOINT_TESTING_TINY_STATE_TESTING_H_
#define MILLRACE_CHECKPOINT_TESTING_TINY_STATE_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "checkpoint/state/state_writer.h"
#include "checkpoint/state/train_state.h"
#include "optim/moving_average.h"

namespace millrace {

// Returns an empty table "items" of dimension 3 with a slot "m" of 2 numbers. `text`: further
// fields of TableConfig.
std::unique_ptr<EmbeddingTable> tiny_table(const std::string& text = "",
                                           const std::string& name = "items");

// Runs a step that sees these distinct ids, and changes weights and slots of their rows.
void step_table(EmbeddingTable& table, int64_t step, const std::vector<int64_t>& ids);

// A model with parameters "fc.weight" [2, 3] and "fc.bias" [2], both with Adam, and buffers of
// other types: "half", "brain" and "flag".
struct TinyState {
  std::vector<NamedParameter> dense;
  std::unique_ptr<DenseOptimizer> optimizer;
  std::unique_ptr<MovingAverage> average;  // null: none, as tiny_state() makes it
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  int64_t step = 0;

  // Borrows this object.
  TrainState state() const;
  // Returns a text of the whole state, exact to the last bit.
  std::string to_string() const;
};

// Returns a state whose numbers are functions of `seed`. `tables`: the arguments of tiny_table(),
// one per table.
TinyState tiny_state(int64_t seed, const std::vector<std::string>& tables = {""});
// Begins a moving average of the parameters.
void begin_average(TinyState& state);
// Runs one more step: changes dense tensors, optimizer, average and tables. Each table sees `ids`.
void step_state(TinyState& state, const std::vector<int64_t>& ids);

// Saves the state to FOLDER/step-NNNNNNNN, with one rank. Errors: any error of StateWriter and
// CommitDirectory.
absl::Status write_state(FileSystem& files, const std::string& folder, const TrainState& state,
                         const StateWriterOptions& options = {});

// Returns the checkpoint at `path` as the base of a delta on it.
CheckpointManifest::Base base_of(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_TINY_STATE_TESTING_H_
