// Checks of the sinks of a run.
#ifndef MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
#define MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_

#include <string>
#include <vector>

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

// Returns true if rank 0 has a TensorBoard sink that run.sink does not list.
bool has_default_tensorboard(const RunConfig& run);

// Returns the directories, relative to run.output_dir, that built-in sinks write to, also the one
// that run.sink does not list.
std::vector<std::string> sink_directories(const RunConfig& run);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
