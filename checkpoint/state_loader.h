// What training begins with, as the trainer sees it.
#ifndef MILLRACE_CHECKPOINT_STATE_LOADER_H_
#define MILLRACE_CHECKPOINT_STATE_LOADER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "checkpoint/checkpointable.h"
#include "checkpoint/train_state.h"
#include "distributed/collectives.h"

namespace millrace {

// Every rank has one. All call load, reload and fill at the same points, between steps, on the
// thread of the trainer. What one rank cannot do fails on all of them, with its message. After an
// error nothing has changed.
//
// A dynamic one is an object of the trainer's state, named kModelBank: what it has loaded is not
// loaded again after a resume.
class StateLoader : public Checkpointable {
 public:
  // Whether it is to be asked again.
  virtual bool dynamic() const = 0;

  // Reads what training begins with.
  // Returns: for Trainer::restore, the state of the trainer that `target` was captured from with
  // something else in places.
  virtual absl::StatusOr<LoadedState> load(const TrainState& target, Collectives& ranks) = 0;

  // Puts what has changed since it was loaded last into the trainer `target` is a view of. Of the
  // messages in it the progress alone is read.
  // Returns: whether there was anything, the same on all ranks.
  virtual absl::StatusOr<bool> reload(const TrainState& target, Collectives& ranks) = 0;

  // Puts what it has of these dense tensors and tables into the trainer `target` is a view of,
  // which goes on from a checkpoint without them. Of the messages in it progress and
  // began_with are read.
  // Returns: those that it has nothing of, in their order. Errors: InvalidArgument too, for files
  // that are not those training began with.
  virtual absl::StatusOr<std::vector<std::string>> fill(const TrainState& target,
                                                        const std::vector<std::string>& names,
                                                        Collectives& ranks) = 0;
};

inline constexpr char kModelBank[] = "model_bank";
// The hook whose state is that of the schedules that follow a metric.
inline constexpr char kScheduleMonitor[] = "schedule_monitor";

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_LOADER_H_
