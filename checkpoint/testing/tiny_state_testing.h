// The state of a trainer without a trainer, for tests.
#ifndef MILLRACE_CHECKPOINT_TESTING_TINY_STATE_TESTING_H_
#define MILLRACE_CHECKPOINT_TESTING_TINY_STATE_TESTING_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "checkpoint/state/state_writer.h"
#include "checkpoint/train_state.h"
#include "optim/moving_average.h"

namespace millrace {

// An empty table "items" of dimension 3 with a slot "m" of 2 numbers. `text`: more of a
// TableConfig.
std::unique_ptr<EmbeddingTable> tiny_table(const std::string& text = "",
                                           const std::string& name = "items");

// A step that sees these ids, distinct ones, and changes weights and slots of those that have rows.
void step_table(EmbeddingTable& table, int64_t step, const std::vector<int64_t>& ids);

// A model with parameters "fc.weight" [2, 3] and "fc.bias" [2], both with Adam, and buffers of
// other types: "half", "brain" and "flag".
struct TinyState {
  std::vector<NamedParameter> dense;
  std::unique_ptr<DenseOptimizer> optimizer;
  std::unique_ptr<MovingAverage> average;  // null: none, as tiny_state() makes it
  std::vector<std::unique_ptr<EmbeddingTable>> tables;
  int64_t step = 0;

  // Borrows this.
  TrainState state() const;
  // Everything, to the last bit.
  std::string to_string() const;
};

// All numbers follow from `seed`. `tables`: what tiny_table takes, one for each.
TinyState tiny_state(int64_t seed, const std::vector<std::string>& tables = {""});
// Begins a moving average of the parameters.
void begin_average(TinyState& state);
// One more step: dense tensors, optimizer, average and tables change. Each table
// sees `ids`.
void step_state(TinyState& state, const std::vector<int64_t>& ids);

// Saves it to FOLDER/step-NNNNNNNN, with one rank. Errors: those of StateWriter and
// CommitDirectory.
absl::Status write_state(FileSystem& files, const std::string& folder, const TrainState& state,
                         const StateWriterOptions& options = {});

// The checkpoint at `path` as the base of a delta on it.
CheckpointManifest::Base base_of(FileSystem& files, const std::string& path);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_TINY_STATE_TESTING_H_
