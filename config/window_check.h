// Checks of what a run does with windows.
#ifndef MILLRACE_CONFIG_WINDOW_CHECK_H_
#define MILLRACE_CONFIG_WINDOW_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks run.window_io and run.window_gate. Errors: InvalidArgument that names every mistake.
absl::Status check_run_windows(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_CONFIG_WINDOW_CHECK_H_
