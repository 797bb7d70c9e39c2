// The state of a trainer on its way back from the files of a checkpoint.
#ifndef MILLRACE_CHECKPOINT_STATE_STATE_READER_H_
#define MILLRACE_CHECKPOINT_STATE_STATE_READER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/train_state.h"

namespace millrace {

// Reads all of a full checkpoint for the trainer that `target` was captured from: a whole
// checkpoint and the deltas on it, as open_chain gives them. Every byte is checked on the way. Of
// tables on several ranks, reads the rows of this rank; LoadedState::rows counts them. Nothing of
// `target` changes.
// Errors: InvalidArgument listing every name, shape, dimension and dtype that differs;
// FailedPrecondition if a part is missing (a model-only checkpoint); DataLoss naming file and place
// for damage; ResourceExhausted for a table whose limits do not allow the rows; those of reading.
absl::StatusOr<LoadedState> read_state(CheckpointChain chain, const TrainState& target,
                                       ThreadPool& threads);

// What a model's dense parameters are read from.
enum class ModelWeights {
  kTrained,  // the parameters
  kAverage   // their moving averages; parameters that are not averaged as they are
};

// The same without any state of training: dense parameters and buffers, ids and weights of tables.
// Serves model-only checkpoints too. `ranks` and `shared` of the result are empty.
// In both, what the checkpoint was saved without is named in LoadedState::left_out.
// Errors: as above; FailedPrecondition for kAverage and a checkpoint without a moving average.
absl::StatusOr<LoadedState> read_model(CheckpointChain chain, const TrainState& target,
                                       ThreadPool& threads,
                                       ModelWeights weights = ModelWeights::kTrained);

// The state files alone.
struct RankStates {
  SharedState shared;
  std::vector<RankState> ranks;  // of all ranks that wrote
};
// REQUIRES: the checkpoint has the part RANK_STATE.
// Errors: DataLoss for damage and for files that contradict the manifest; those of reading.
absl::StatusOr<RankStates> read_rank_states(const CheckpointReader& checkpoint);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_STATE_READER_H_
