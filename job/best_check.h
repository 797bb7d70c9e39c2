// Checks of the best score of a job.
#ifndef MILLRACE_JOB_BEST_CHECK_H_
#define MILLRACE_JOB_BEST_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks run.evaluation.best: its fields, that an evaluation of the job gives the monitor of each
// term, that no monitor is of next_window, and that a step evaluates all sets. REQUIRES: `config`
// went through expand_names and validate.
// Errors: InvalidArgument with a line per mistake, for a monitor with the nearest name and all
// names.
absl::Status check_best(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_BEST_CHECK_H_
