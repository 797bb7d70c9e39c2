#include "framework/loop/limits.h"

#include "proto/field_check.h"
#include "proto/field_errors.h"

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

absl::Status check_limits(absl::string_view where, const TrainConfig& train) {
  return all_errors({at_least(where, "max_steps", train.max_steps(), 0),
                     at_least(where, "max_epochs", train.max_epochs(), 0),
                     not_negative(where, "max_seconds", train.max_seconds()),
                     at_least(where, "max_steps_per_epoch", train.max_steps_per_epoch(), 0),
                     at_least(where, "max_windows", train.max_windows(), 0),
                     at_least(where, "max_steps_per_window", train.max_steps_per_window(), 0),
                     at_least(where, "max_evaluation_steps", train.max_evaluation_steps(), 0),
                     at_least(where, "micro_batches", train.micro_batches(), 1)});
}

}  // namespace millrace
