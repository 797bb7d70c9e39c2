// What a configuration says about a dense optimizer, checked.
#ifndef MILLRACE_OPTIM_DENSE_OPTIMIZER_CHECK_H_
#define MILLRACE_OPTIM_DENSE_OPTIMIZER_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the learning rate and the numbers of the kind that is chosen, and that a configuration of
// frozen parameters has no kind, schedule or learning rate.
// Errors: InvalidArgument that begins with `where`, the place of the message in the configuration,
// and names the field that is out of range.
absl::Status check_dense_optimizer(absl::string_view where, const DenseOptimizerConfig& config);

}  // namespace millrace

#endif  // MILLRACE_OPTIM_DENSE_OPTIMIZER_CHECK_H_
