// Checks of the sinks of a run.
#ifndef MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
#define MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks run.sink: kinds, registered names, places and ports. Errors: InvalidArgument with all
// mistakes, each with its place.
absl::Status check_sinks(const RunConfig& run);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
