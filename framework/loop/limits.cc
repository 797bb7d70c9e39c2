#include "framework/loop/limits.h"

namespace millrace {

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
