// Who keeps the states of a trainer, as the trainer sees it.
#ifndef MILLRACE_CHECKPOINT_STATE_SAVER_H_
#define MILLRACE_CHECKPOINT_STATE_SAVER_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpoint_info.h"
#include "checkpoint/train_state.h"
#include "distributed/collectives.h"

namespace millrace {

// A state that was found.
struct FoundCheckpoint {
  CheckpointInfo info;
  LoadedState state;
  std::map<std::string, double> metrics;  // as of save
  std::vector<std::string> notes;         // for people: damaged ones that were passed over
};

// Every rank has one. All call the same functions at the same points, between steps, on the thread
// of the trainer. What one rank cannot do fails on all of them, with its message.
class StateSaver {
 public:
  virtual ~StateSaver() = default;

  // Whether it can save what `state` has; its messages are not looked at. Before anything else, on
  // each rank alone. Errors: InvalidArgument for options that do not fit.
  virtual absl::Status check(const TrainState& state) const { return absl::OkStatus(); }

  // Takes what saving needs to itself, so that nobody else saves to the same place; once it is
  // taken, nothing. Before the first step of a run.
  virtual absl::Status open(Collectives& ranks) = 0;

  // Begins to save all of `state` as it is now; the state may change as soon as this returns. May
  // first wait for earlier saves. `metrics`: known figures of the model at this step, by
  // "set/metric". The checkpoint that becomes durable has path and progress of `state`. Errors: of
  // a saver that is not asynchronous, those of saving; else those that show before anything is
  // written, and those of poll(). After an error earlier checkpoints are as they were, and the next
  // call may succeed.
  virtual absl::Status begin(const TrainState& state, const std::map<std::string, double>& metrics,
                             Collectives& ranks) = 0;
  // If true, the trainer continues after begin() and calls poll() after every step. If false, it
  // calls finish() after each begin() that succeeds, and poll() after one that fails.
  virtual bool asynchronous() const { return false; }
  // Whether this rank has done its part of what the oldest save under way is at: writing, then
  // committing. False if none is under way.
  virtual bool ready() const { return false; }
  // Goes on with saves under way. `all_ready`: whether ready() was true on all ranks, since when no
  // other function has been called. Returns: those that have become durable, in their order.
  // Errors: why one failed, with its step; what was saved before is as it was. Others go on. Those
  // that had become durable are returned by the next call, for which `all_ready` may be false: then
  // no rank waits for another.
  virtual absl::StatusOr<std::vector<CheckpointInfo>> poll(bool all_ready, Collectives& ranks) {
    return std::vector<CheckpointInfo>();
  }
  // The same, waiting for all that are under way, also after an error.
  virtual absl::StatusOr<std::vector<CheckpointInfo>> finish(Collectives& ranks) = 0;

  // Reads the newest state for the trainer that `target` was captured from; none: there is none.
  virtual absl::StatusOr<std::optional<FoundCheckpoint>> restore(const TrainState& target,
                                                                 Collectives& ranks) = 0;
  // Reads the one at `path`, which may be of another place, or the newest of the place `path`.
  // Errors: NotFound too.
  virtual absl::StatusOr<FoundCheckpoint> restore_from(const std::string& path,
                                                       const TrainState& target,
                                                       Collectives& ranks) = 0;
  // The trainer goes on from this one, which a call above returned: all of it is in place.
  virtual void restored(const CheckpointInfo& info) {}
};

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_SAVER_H_
