#include "framework/loop/limits.h"

#include <algorithm>
#include <limits>

namespace millrace {
namespace {

// Returns the earlier of a total and of `added` after `start`. 0: none.
int64_t earlier(int64_t total, int64_t start, int64_t added) {
  if (added <= 0 || added > std::numeric_limits<int64_t>::max() - start) return total;
  return total > 0 ? std::min(total, start + added) : start + added;
}

}  // namespace

absl::StatusOr<Limits> limits_of_run(const Limits& totals, const RunLimits& run,
                                     const Progress& start) {
  if (run.max_steps < 0 || run.max_epochs < 0 || run.max_windows < 0 ||
      run.max_elapsed < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("a limit of the run is negative; 0 is no limit");
  }
  Limits limits = totals;
  limits.max_steps = earlier(totals.max_steps, start.step, run.max_steps);
  limits.max_epochs = earlier(totals.max_epochs, start.epoch, run.max_epochs);
  limits.max_windows = earlier(totals.max_windows, start.window, run.max_windows);
  if (run.max_elapsed > absl::ZeroDuration()) {
    const absl::Duration end = start.elapsed + run.max_elapsed;
    const bool has_total = totals.max_elapsed > absl::ZeroDuration();
    limits.max_elapsed = has_total ? std::min(totals.max_elapsed, end) : end;
  }
  return limits;
}

bool limit_reached(const Limits& limits, const Progress& progress) {
  return (limits.max_steps > 0 && progress.step >= limits.max_steps) ||
         (limits.max_epochs > 0 && progress.epoch >= limits.max_epochs) ||
         (limits.max_windows > 0 && progress.window >= limits.max_windows) ||
         time_is_up(limits, progress);
}

bool time_is_up(const Limits& limits, const Progress& progress) {
  return limits.max_elapsed > absl::ZeroDuration() && progress.elapsed >= limits.max_elapsed;
}

}  // namespace millrace
