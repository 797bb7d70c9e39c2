// Checks of the metrics that a job reports.
#ifndef MILLRACE_JOB_REPORT_REPORT_CHECK_H_
#define MILLRACE_JOB_REPORT_REPORT_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks train.slice, run.report.span and run.report.moving_reports. Checks that a feature of kind
// GROUP_ID exists if any list has a metric that needs groups. Errors: InvalidArgument with all
// mistakes and their places.
absl::Status check_report(const JobConfig& config);

}  // namespace millrace

#endif  // MILLRACE_JOB_REPORT_REPORT_CHECK_H_
