// Checks that the metrics of retention exist.
#ifndef MILLRACE_JOB_KEEP_BEST_CHECK_H_
#define MILLRACE_JOB_KEEP_BEST_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that an evaluation of this job gives each metric of run.checkpoint.keep_best:
// "SET/METRIC", see MetricNames::check_of_checkpoints (job/metric_names.h). REQUIRES: `config` went
// through expand_names and validate.
// Errors: InvalidArgument with one line for each metric, with the nearest name and all names.
absl::Status check_keep_best(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_KEEP_BEST_CHECK_H_
