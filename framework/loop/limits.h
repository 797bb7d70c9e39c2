// Limits of a run.
#ifndef MILLRACE_FRAMEWORK_LOOP_LIMITS_H_
#define MILLRACE_FRAMEWORK_LOOP_LIMITS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/progress.h"
#include "proto/config.pb.h"

namespace millrace {

// Totals over resumes after which training ends. 0: none.
struct Limits {
  int64_t max_steps = 0;
  int64_t max_epochs = 1;
  int64_t max_windows = 0;
  absl::Duration max_elapsed = absl::ZeroDuration();
};

// Limits of one run, counted from its start. 0: none.
struct RunLimits {
  int64_t max_steps = 0;
  int64_t max_epochs = 0;  // an epoch that the run continues counts as one
  int64_t max_windows = 0;
  absl::Duration max_elapsed = absl::ZeroDuration();
};

// Returns the totals at which a run with limits of its own ends, if it begins at `start`.
// Errors: InvalidArgument for a negative limit.
absl::StatusOr<Limits> limits_of_run(const Limits& totals, const RunLimits& run,
                                     const Progress& start);

// Returns true if `progress` has reached a limit.
bool limit_reached(const Limits& limits, const Progress& progress);
// Returns true if `progress` has reached max_elapsed.
bool time_is_up(const Limits& limits, const Progress& progress);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LIMITS_H_
