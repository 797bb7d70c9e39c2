// Checks of the configuration of what updates dense parameters: optimizers, clipping and averages.
#ifndef MILLRACE_OPTIM_DENSE_OPTIMIZER_CHECK_H_
#define MILLRACE_OPTIM_DENSE_OPTIMIZER_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the learning rate and the numbers of the chosen kind, and that a configuration of frozen
// parameters has no kind, schedule or learning rate.
// Errors: InvalidArgument that begins with `where`, the place of the message in the configuration,
// and names the field that is out of range.
absl::Status check_dense_optimizer(absl::string_view where, const DenseOptimizerConfig& config);

// Checks that there is a limit and that it is above 0. Errors: InvalidArgument that begins with
// `where`, the place of the message in the configuration.
absl::Status check_clipping(absl::string_view where, const ClippingConfig& config);

// Checks the moving average of `train`, if any: its numbers, and that some dense optimizer is not
// frozen. Errors: InvalidArgument naming the field.
absl::Status check_moving_average_of(const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_OPTIMIZER_CHECK_H_
