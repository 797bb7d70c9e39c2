// Rules of the message EarlyStoppingConfig.
#ifndef MILLRACE_HOOKS_EARLY_STOPPING_CHECK_H_
#define MILLRACE_HOOKS_EARLY_STOPPING_CHECK_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "proto/hook_configs.pb.h"

namespace millrace {

// Returns true if higher values are better, by `mode` or by the name of the metric. None: `mode` is
// BY_METRIC and the metric has no direction.
std::optional<bool> higher_is_better(const EarlyStoppingConfig& config);

// Checks the monitor and the mode of `config`, located at `where`. Does not check that a job
// reports the metric. Errors: InvalidArgument with a line per wrong field.
absl::Status check_stopping_monitor(absl::string_view where, const EarlyStoppingConfig& config);

// As check_stopping_monitor(), and checks the numbers.
absl::Status check_early_stopping(absl::string_view where, const EarlyStoppingConfig& config);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EARLY_STOPPING_CHECK_H_
