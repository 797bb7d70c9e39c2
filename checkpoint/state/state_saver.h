// The interface by which a trainer saves and restores its state.
#ifndef MILLRACE_CHECKPOINT_STATE_STATE_SAVER_H_
#define MILLRACE_CHECKPOINT_STATE_STATE_SAVER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/state/checkpoint_info.h"
#include "checkpoint/state/train_state.h"
#include "distributed/collectives.h"
#include "embedding/rows/undo_budget.h"

namespace millrace {

// A checkpoint with its state in memory.
struct FoundCheckpoint {
  CheckpointInfo info;
  std::string digest;  // of its manifest
  LoadedState state;
  std::map<std::string, double> metrics;  // the metrics given to begin()
  std::vector<std::string> notes;         // a line for each newer checkpoint that is damaged
  // Fields of the configuration that changed since it was saved: "train.X: 1 → 2".
  std::vector<std::string> changes;
};

// Saves states of a trainer and reads them back. Every rank has a saver; all ranks call the same
// functions at the same points, between steps, on the trainer's thread. An error of one rank
// becomes the error of all ranks, with its message.
class StateSaver {
 public:
  virtual ~StateSaver() = default;

  // Checks that the options fit the tensors and tables of `state`; ignores its messages. Called
  // first, on each rank alone. The default accepts all. Errors: InvalidArgument.
  virtual absl::Status check(const TrainState& state) const { return absl::OkStatus(); }

  // Sets the functions that the waits of training for memory of this saver call: the training
  // thread waits in a step if it changes more than a save under way can keep. Called once, before
  // the first begin(). The default, for a saver without such waits, does nothing.
  virtual void observe_waits(UndoWaits waits) {}

  // Acquires exclusive write access to the destination. Does nothing if access is already held.
  // Called before the first step of a run.
  virtual absl::Status open(Collectives& ranks) = 0;

  // Begins to save all of `state`, which may change as soon as begin() returns. May first wait for
  // earlier saves. `metrics`: metrics of the model at this step, by "set/metric". The progress of
  // `state` identifies the checkpoint among the results of poll() and finish().
  // Errors: an asynchronous saver reports errors found before the first write and any error of
  // poll(); other savers report any error of saving. An error changes no earlier checkpoint, and
  // the next call may succeed.
  virtual absl::Status begin(const TrainState& state, const std::map<std::string, double>& metrics,
                             Collectives& ranks) = 0;
  // If true, the trainer continues after begin() and calls poll() after every step. If false, the
  // trainer calls finish() after each begin() that succeeds, and poll() after each begin() that
  // fails.
  virtual bool asynchronous() const { return false; }
  // Returns true if this rank has finished its part of the current stage, writing or committing, of
  // the oldest save under way. The default, and without a save under way: false.
  virtual bool ready() const { return false; }
  // Continues the saves under way. `all_ready`: true if ready() was true on all ranks and no other
  // function was called since; if false, no rank waits for another. Returns the checkpoints that
  // became durable, in the order of their saves; the default returns none. An asynchronous saver
  // drops a save, with a warning, if its destination was removed before the checkpoint became
  // durable: this checkpoint is not returned, and the next begin() makes the destination again.
  // Errors: the failure of a save, with its step. Other saves continue, earlier checkpoints are
  // unchanged, and the next call returns the checkpoints that became durable before the error.
  virtual absl::StatusOr<std::vector<CheckpointInfo>> poll(bool all_ready, Collectives& ranks) {
    return std::vector<CheckpointInfo>();
  }
  // Waits for all saves under way, also after an error, until the job has failed. Returns, Errors:
  // as poll(); Collectives::failure().
  virtual absl::StatusOr<std::vector<CheckpointInfo>> finish(Collectives& ranks) = 0;
  // Ends the writing of saves under way soon, except a commit: called when the job has failed, so
  // that none of them can be committed. The default does nothing.
  virtual void abandon() {}

  // Reads the newest checkpoint for the trainer that `target` was captured from. Returns none if no
  // checkpoint exists.
  virtual absl::StatusOr<std::optional<FoundCheckpoint>> restore(const TrainState& target,
                                                                 Collectives& ranks) = 0;
  // Reads the checkpoint at `path`, or the newest of the folder `path`; the path may lie outside
  // the destination. Errors: NotFound if neither exists.
  virtual absl::StatusOr<FoundCheckpoint> restore_from(const std::string& path,
                                                       const TrainState& target,
                                                       Collectives& ranks) = 0;
  // Returns the path of the durable checkpoint of `step` in the destination, or "" if none exists.
  // The default returns "".
  virtual std::string durable_path(int64_t step) const { return ""; }
  // Called when the trainer has applied a checkpoint that restore() or restore_from() returned. The
  // default does nothing.
  virtual void restored(const CheckpointInfo& info) {}
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_STATE_SAVER_H_
