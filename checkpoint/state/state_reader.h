// Reads the state of a trainer from the files of a checkpoint.
#ifndef MILLRACE_CHECKPOINT_STATE_STATE_READER_H_
#define MILLRACE_CHECKPOINT_STATE_STATE_READER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/state/train_state.h"

namespace millrace {

// Reads all of a full checkpoint for the trainer that `target` was captured from. `chain`: a whole
// checkpoint and the deltas on it, the result of open_chain(). Checks every byte as it is read.
// Reads only this rank's rows of tables on several ranks; LoadedState::rows counts them. Does not
// change `target`. Names omitted by the checkpoint are in LoadedState::left_out.
// Errors: InvalidArgument listing every different name, shape, dimension and dtype;
// FailedPrecondition if a part is missing (a model-only checkpoint); DataLoss naming file and place
// for damage; ResourceExhausted for a table whose limits do not allow the rows; read errors.
absl::StatusOr<LoadedState> read_state(CheckpointChain chain, const TrainState& target,
                                       ThreadPool& threads);

// The source of a model's dense parameters.
enum class ModelWeights {
  kTrained,  // the parameters
  kAverage   // their moving averages, or the parameters themselves where no average exists
};

// Reads a checkpoint like read_state(), but without training state: dense parameters and buffers,
// ids and weights of tables. Also reads model-only checkpoints. `ranks` and `shared` of the result
// are empty.
// Errors: as read_state(); FailedPrecondition for kAverage and a checkpoint without a moving
// average.
absl::StatusOr<LoadedState> read_model(CheckpointChain chain, const TrainState& target,
                                       ThreadPool& threads,
                                       ModelWeights weights = ModelWeights::kTrained);

// The content of the state files.
struct RankStates {
  SharedState shared;
  std::vector<RankState> ranks;  // of all ranks that wrote
};
// Reads the state files alone. REQUIRES: the checkpoint has the part RANK_STATE. Errors: DataLoss
// for damage and for files that contradict the manifest; read errors.
absl::StatusOr<RankStates> read_rank_states(const CheckpointReader& checkpoint);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_STATE_READER_H_
