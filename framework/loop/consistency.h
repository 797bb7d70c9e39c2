// Says whether the state of training is consistent.
#ifndef MILLRACE_FRAMEWORK_LOOP_CONSISTENCY_H_
#define MILLRACE_FRAMEWORK_LOOP_CONSISTENCY_H_

#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace millrace {

// True while model, optimizers, tables, position and hooks all stand after the same step, so that a
// run that fails now can save its state. A step, an event and the serving of requests suspend that:
// a failure amid them may leave hooks or requests half done. Used on the trainer's thread.
class Consistency {
 public:
  bool holds() const { return holds_; }

  // Begins a run, or stands where a state was restored: between two steps.
  void begin_run() { holds_ = true; }

  // Calls `body`, during which holds() is false. If it succeeds, holds() is what it was before;
  // after an error or an exception it stays false. Returns: the status of `body`.
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
