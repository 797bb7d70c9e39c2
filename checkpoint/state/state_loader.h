// The initial content of training, as the trainer sees it.
#ifndef MILLRACE_CHECKPOINT_STATE_STATE_LOADER_H_
#define MILLRACE_CHECKPOINT_STATE_STATE_LOADER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/state/checkpointable.h"
#include "checkpoint/state/train_state.h"
#include "distributed/collectives.h"

namespace millrace {

// Source of the initial content of a trainer. Every rank has a loader. All ranks call load(),
// reload() and fill() at the same points, between steps, on the trainer's thread. A failure of one
// rank becomes the error of all ranks, with its message. An error changes nothing.
//
// A dynamic loader is an object of the trainer's state, named kModelBank: after a resume, content
// that was loaded before the checkpoint is not loaded again.
class StateLoader : public Checkpointable {
 public:
  // Returns true if the trainer calls reload() during training.
  virtual bool dynamic() const = 0;

  // Reads the initial content of training. Returns the state, for Trainer::restore(), of the
  // trainer that `target` was captured from, with loaded content in place of parts of the state.
  virtual absl::StatusOr<LoadedState> load(const TrainState& target, Collectives& ranks) = 0;

  // Puts the content that has changed since the last load into the trainer that `target` is a view
  // of. Reads only the progress of the messages in `target`. Returns true if any content has
  // changed; the result is the same on all ranks.
  virtual absl::StatusOr<bool> reload(const TrainState& target, Collectives& ranks) = 0;

  // Puts the loader's content for these dense tensors and tables into the trainer that `target` is
  // a view of. Called when that trainer resumes from a checkpoint without them. Reads only the
  // progress and began_with of the messages in `target`. Returns the names for which the loader has
  // no content, in the order of `names`.
  // Errors: also InvalidArgument, for files other than the initial files of training.
  virtual absl::StatusOr<std::vector<std::string>> fill(const TrainState& target,
                                                        const std::vector<std::string>& names,
                                                        Collectives& ranks) = 0;
};

inline constexpr char kModelBank[] = "model_bank";
// The hook whose state is the state of the schedules that follow a metric.
inline constexpr char kScheduleMonitor[] = "schedule_monitor";

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_STATE_LOADER_H_
