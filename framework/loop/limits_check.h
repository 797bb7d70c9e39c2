// Rules of the limits of a run.
#ifndef MILLRACE_FRAMEWORK_LOOP_LIMITS_CHECK_H_
#define MILLRACE_FRAMEWORK_LOOP_LIMITS_CHECK_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the limits of `train`, of its epochs, windows and evaluations, and micro_batches. Errors:
// InvalidArgument that names the field and begins with `where`, the place of `train` in the
// configuration.
absl::Status check_limits(absl::string_view where, const TrainConfig& train);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_LIMITS_CHECK_H_
