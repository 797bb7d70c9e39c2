// The limits that end training.
#ifndef MILLRACE_FRAMEWORK_LOOP_LIMITS_H_
#define MILLRACE_FRAMEWORK_LOOP_LIMITS_H_

#include <cstdint>

#include "absl/time/time.h"
#include "base/progress.h"

namespace millrace {

// Totals over resumes, after which no step follows. 0: none.
struct Limits {
  int64_t max_steps = 0;
  int64_t max_epochs = 1;
  int64_t max_windows = 0;
  absl::Duration max_elapsed = absl::ZeroDuration();
};

// True if `progress` is at one of the limits or beyond it.
bool limit_reached(const Limits& limits, const Progress& progress);
// The same for max_elapsed alone.
bool time_is_up(const Limits& limits, const Progress& progress);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LIMITS_H_
