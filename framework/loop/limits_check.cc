#include "framework/loop/limits_check.h"

#include "proto/field_check.h"
#include "proto/field_errors.h"

namespace millrace {

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
