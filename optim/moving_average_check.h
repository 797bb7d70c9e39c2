// What a configuration says about a moving average, checked.
#ifndef MILLRACE_OPTIM_MOVING_AVERAGE_CHECK_H_
#define MILLRACE_OPTIM_MOVING_AVERAGE_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the moving average of `train`, if any: its numbers, and that some dense optimizer is not
// frozen. Errors: InvalidArgument naming the field.
absl::Status check_moving_average_of(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_MOVING_AVERAGE_CHECK_H_
