// Checks of the metrics that decide how training continues.
#ifndef MILLRACE_JOB_MONITOR_CHECK_H_
#define MILLRACE_JOB_MONITOR_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the fields of the hook early_stopping, that the hook is in train.hooks, and that
// evaluations or reports of this job give its metric, and those that schedules follow, again and
// again, and that evaluations give the metric of the hook mllog.
// REQUIRES: `config` went through expand_names and validate.
// Errors: InvalidArgument with one line for each mistake, naming the entry; for a metric the
// nearest, all sets and their metrics.
absl::Status check_monitors(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_MONITOR_CHECK_H_
