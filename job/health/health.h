// The decision whether a rank makes progress.
#ifndef MILLRACE_JOB_HEALTH_HEALTH_H_
#define MILLRACE_JOB_HEALTH_HEALTH_H_

#include <string>

#include "job/health/rank_activity.h"
#include "proto/config.pb.h"
#include "sinks/prometheus/health_report.h"

namespace millrace {

// Returns whether the time without progress is within the limit of the activity, and a line without
// a line feed that says so. A rank in an exchange with other ranks is healthy: their own limits,
// and the time-outs of run.distributed, end such a wait.
HealthReport check_health(const Activity& activity, const HealthConfig& limits);

}  // namespace millrace

#endif  // MILLRACE_JOB_HEALTH_HEALTH_H_
