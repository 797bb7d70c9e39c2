// Checks of the sinks of a run.
#ifndef MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
#define MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks run.sink: kinds, registered names, places, and ports for a job of one rank. Errors:
// InvalidArgument with all mistakes and their places.
absl::Status check_sinks(const RunConfig& run);

// Checks the ports of Prometheus sinks in a job of `ranks` ranks, all of which may run on one
// machine. Errors: InvalidArgument if a port is above 65535 or two sinks need the same port of an
// address.
absl::Status check_sink_ports(const RunConfig& run, int ranks);

// Returns true if rank 0 has a TensorBoard sink that is not listed in run.sink.
bool has_default_tensorboard(const RunConfig& run);

// Returns the directories, relative to run.output_dir, that built-in sinks write to, including a
// sink that is not listed in run.sink.
std::vector<std::string> sink_directories(const RunConfig& run);

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SINK_CHECK_H_
