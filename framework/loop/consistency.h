// Tracks the consistency of the state of training.
#ifndef MILLRACE_FRAMEWORK_LOOP_CONSISTENCY_H_
#define MILLRACE_FRAMEWORK_LOOP_CONSISTENCY_H_

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace millrace {

// Consistency of the state of training: holds() is true while model, optimizers, tables, position
// and hooks are all at the end of the same step, so that a run that fails can save the state. A
// step, an event and the serving of requests suspend consistency, because a failure within them may
// leave hooks or requests incomplete. Used on the trainer's thread.
class Consistency {
 public:
  bool holds() const { return holds_; }

  // Marks the state as consistent, between two steps. Called when a run begins and after a state
  // was restored.
  void begin_run() { holds_ = true; }

  // Calls `body`, during which holds() is false. If `body` succeeds, restores the value of holds();
  // after an error or an exception, holds() remains false. Returns the status of `body`.
  absl::Status suspend(absl::FunctionRef<absl::Status()> body) {
    const bool before = std::exchange(holds_, false);
    absl::Status status = body();
    if (status.ok()) holds_ = before;
    return status;
  }

 private:
  bool holds_ = true;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_CONSISTENCY_H_
