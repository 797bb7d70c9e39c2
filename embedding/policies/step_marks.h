// When steps were, so that rows need not keep times of their own.
#ifndef MILLRACE_EMBEDDING_POLICIES_STEP_MARKS_H_
#define MILLRACE_EMBEDDING_POLICIES_STEP_MARKS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"

namespace millrace {

// At `at` (seconds of training, finished windows), `step` steps had been applied.
struct StepMark {
  double at = 0;
  int64_t step = 0;

  friend bool operator==(const StepMark&, const StepMark&) = default;
};

// Remembers which step was the last at moments up to `horizon` ago, at most `horizon / spacing` + 3
// of them (whatever the number of steps):
//
//   StepMarks marks(600, 600.0 / 256);
//   marks.add(seconds, step);                       // after every step
//   const int64_t cut = marks.step_at(seconds - 600);
//   // Rows last seen in step `cut` or before have not been seen for 600 seconds, if cut >= 0.
class StepMarks {
 public:
  // REQUIRES: horizon > 0, spacing > 0.
  StepMarks(double horizon, double spacing) : horizon_(horizon), spacing_(spacing) {}

  // Moments and steps do not decrease. What comes less than `spacing` after the last mark leaves
  // none, so that step_at may be older, never newer, than it was.
  void add(double at, int64_t step);

  // How many steps had been applied at `at`, or at the last moment before that has a mark; -1:
  // there is none.
  int64_t step_at(double at) const;

  bool empty() const { return marks_.empty(); }

  // For checkpoints.
  std::vector<StepMark> state() const { return {marks_.begin(), marks_.end()}; }
  // Errors: InvalidArgument if moments do not increase, steps decrease or there are too many;
  // nothing changes then.
  absl::Status set_state(const std::vector<StepMark>& marks);

 private:
  double horizon_;
  double spacing_;
  std::deque<StepMark> marks_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_STEP_MARKS_H_
