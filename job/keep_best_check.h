// Whether the metrics that retention chooses by exist.
#ifndef MILLRACE_JOB_KEEP_BEST_CHECK_H_
#define MILLRACE_JOB_KEEP_BEST_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks that an evaluation of this job gives each metric of run.checkpoint.keep_best: "SET/METRIC"
// with a set of train.eval_data that is evaluated at some time and "loss" or one of train.metric,
// which with several labels has "LABEL/" before it.
// REQUIRES: `config` went through expand_names and validate.
// Errors: InvalidArgument naming the nearest, all sets and all metrics.
absl::Status check_keep_best(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_KEEP_BEST_CHECK_H_
