// Checks of the best score of a job.
#ifndef MILLRACE_JOB_BEST_CHECK_H_
#define MILLRACE_JOB_BEST_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks run.evaluation.best: its fields, that an evaluation of this job gives the monitor of each
// term, that none is of next_window, and that all their sets are evaluated at one step at some
// time. REQUIRES: `config` went through expand_names and validate. Errors: InvalidArgument with one
// line for each mistake; for a monitor with the nearest name and all that there are.
absl::Status check_best(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_BEST_CHECK_H_
