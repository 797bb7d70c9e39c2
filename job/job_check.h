// What of a configuration depends on the program that runs it.
#ifndef MILLRACE_JOB_JOB_CHECK_H_
#define MILLRACE_JOB_JOB_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks how the job uses metrics and tasks: check_monitors (job/monitor_check.h), check_best
// (job/best_check.h), check_task_use (job/task_use_check.h) and, unless run.checkpoint.enabled is
// false, check_keep_best (job/keep_best_check.h).
// REQUIRES: `config` went through expand_names. What validate() refuses is not reported again.
// Errors: InvalidArgument with one line for each mistake.
absl::Status check_metric_use(const JobConfig& config);

// Checks what training refuses before it reads data: that the model and all hooks are linked into
// this program, that `ranks` ranks can share the examples of a step, and check_metric_use().
// REQUIRES: `config` went through expand_names. What validate() refuses is not reported again.
// Errors: InvalidArgument with one line for each mistake, naming the field.
absl::Status check_job(const JobConfig& config, int64_t ranks = 1);

}  // namespace millrace

#endif  // MILLRACE_JOB_JOB_CHECK_H_
