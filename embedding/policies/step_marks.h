// The times of steps. Rows store steps, not times.
#ifndef MILLRACE_EMBEDDING_POLICIES_STEP_MARKS_H_
#define MILLRACE_EMBEDDING_POLICIES_STEP_MARKS_H_

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/status/status.h"

namespace millrace {

// `step` steps had been applied at time `at` (seconds of training, or finished windows).
struct StepMark {
  double at = 0;
  int64_t step = 0;

  friend bool operator==(const StepMark&, const StepMark&) = default;
};

// Records the last step at times up to `horizon` ago. Keeps at most `horizon / spacing` + 3 marks
// for any number of steps:
//
//   StepMarks marks(600, 600.0 / 256);
//   marks.add(seconds, step);                       // after every step
//   const int64_t cut = marks.step_at(seconds - 600);
//   // Rows last seen in step `cut` or before have not been seen for 600 seconds, if cut >= 0.
class StepMarks {
 public:
  // REQUIRES: horizon > 0, spacing > 0.
  StepMarks(double horizon, double spacing) : horizon_(horizon), spacing_(spacing) {}

  // Adds a mark, unless the last mark is less than `spacing` ago. Without a mark, step_at() may
  // return an older step, never a newer one. REQUIRES: times and steps do not decrease.
  void add(double at, int64_t step);

  // Returns the number of steps applied at `at`, or at the last earlier mark; -1 if there is none.
  int64_t step_at(double at) const;

  bool empty() const { return marks_.empty(); }

  // Returns the marks, for checkpoints.
  std::vector<StepMark> state() const { return {marks_.begin(), marks_.end()}; }
  // Replaces the marks. Errors: InvalidArgument if times do not increase, steps decrease or there
  // are too many marks; then nothing has changed.
  absl::Status set_state(const std::vector<StepMark>& marks);

 private:
  double horizon_;
  double spacing_;
  std::deque<StepMark> marks_;
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_STEP_MARKS_H_
