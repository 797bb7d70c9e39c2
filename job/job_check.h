// Checks of a configuration that depend on the program.
#ifndef MILLRACE_JOB_JOB_CHECK_H_
#define MILLRACE_JOB_JOB_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks the use of metrics and tasks: check_monitors (job/monitor_check.h), check_best
// (job/best_check.h), check_task_use (job/task_use_check.h) and, unless run.checkpoint.enabled is
// false, check_keep_best (job/keep_best_check.h). REQUIRES: `config` went through expand_names.
// Mistakes that validate() refuses are not reported again.
// Errors: InvalidArgument with one line for each mistake.
absl::Status check_metric_use(const JobConfig& config);

// Checks everything that training refuses before reading data: the model and all hooks are linked
// into the program, `ranks` ranks can share the examples of a step, and check_metric_use().
// REQUIRES: `config` went through expand_names. Mistakes refused by validate() are not reported
// again.
// Errors: InvalidArgument with a line per mistake, with the field.
absl::Status check_job(const JobConfig& config, int64_t ranks = 1);

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_CHECK_H_
