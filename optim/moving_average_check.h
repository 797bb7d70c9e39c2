// What a configuration says about a moving average, checked.
#ifndef MILLRACE_OPTIM_MOVING_AVERAGE_CHECK_H_
#define MILLRACE_OPTIM_MOVING_AVERAGE_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that the decay is at least 0 and below 1. Errors: InvalidArgument that begins with
// `where`, the place of the message in the configuration.
absl::Status check_moving_average(absl::string_view where, const MovingAverageConfig& config);

// Checks the same of `train`, and that it has a moving average only if some dense optimizer is not
// frozen. Errors: InvalidArgument naming the field.
absl::Status check_moving_average_of(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_MOVING_AVERAGE_CHECK_H_
