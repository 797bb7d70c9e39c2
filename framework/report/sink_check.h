// Checks of the sinks of a run.
#ifndef MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
#define MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks run.sink: kinds, registered names, places, and ports of a job of one rank. Errors:
// InvalidArgument with all mistakes, each with its place.
absl::Status check_sinks(const RunConfig& run);

// Checks the ports of Prometheus sinks in a job of `ranks` ranks, all of which may run on one
// machine. Errors: InvalidArgument if a port is above 65535 or two sinks need one port of one
// address.
absl::Status check_sink_ports(const RunConfig& run, int ranks);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
