// Checks of the metrics that stop training, reduce rates and choose checkpoints.
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

// Checks run.evaluation.best: its fields, that an evaluation of the job gives the monitor of each
// term, that no monitor is of next_window, and that a step evaluates all sets. REQUIRES: `config`
// went through expand_names and validate.
// Errors: InvalidArgument with a line per mistake, for a monitor with the nearest name and all
// names.
absl::Status check_best(const JobConfig& config);

// Checks that an evaluation of this job gives each metric of run.checkpoint.keep_best:
// "SET/METRIC", see MetricNames::check_of_checkpoints (job/metric_names.h). REQUIRES: `config` went
// through expand_names and validate.
// Errors: InvalidArgument with one line for each metric, with the nearest name and all names.
absl::Status check_keep_best(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_MONITOR_CHECK_H_
