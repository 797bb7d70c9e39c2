// Checks of the metrics that decide how training continues.
#ifndef MILLRACE_JOB_MONITOR_CHECK_H_
#define MILLRACE_JOB_MONITOR_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the fields of the hook early_stopping and its presence in train.hooks. Checks that
// evaluations or reports of the job repeatedly give the metrics of early_stopping and of schedules,
// and that evaluations give the metric of the hook mllog. REQUIRES: `config` went through
// expand_names and validate.
// Errors: InvalidArgument with a line per mistake, with the entry, and for a metric the nearest
// name, all sets and their metrics.
absl::Status check_monitors(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_MONITOR_CHECK_H_
