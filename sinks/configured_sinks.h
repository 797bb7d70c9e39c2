// The sinks that a configuration names, and their checks.
#ifndef MILLRACE_SINKS_CONFIGURED_SINKS_H_
#define MILLRACE_SINKS_CONFIGURED_SINKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/report/sink.h"
#include "proto/config.pb.h"

namespace millrace {

// Checks run.sink: kinds, registered names, places, and ports for a job of one rank. Errors:
// InvalidArgument with all mistakes and their places.
absl::Status check_sinks(const RunConfig& run);

// Checks the ports of Prometheus sinks in a job of `ranks` ranks, all of which may run on one
// machine. Errors: InvalidArgument if a port is above 65535 or two sinks need the same port of an
// address.
absl::Status check_sink_ports(const RunConfig& run, int ranks);

// Returns the directories, relative to run.output_dir, that built-in sinks write to, including a
// sink that is not listed in run.sink.
std::vector<std::string> sink_directories(const RunConfig& run);

// Makes the sinks of rank `rank` of `ranks`: run.sink, and a TensorBoard sink if
// run.report.tensorboard is true and run.sink has none. With several ranks, MLflow sinks wait for
// their servers for a quarter of distributed.collective_timeout_seconds at most. Borrows `files`.
// Errors: a sink's error, with its place in the configuration; InvalidArgument if ports do not
// suffice for `ranks` ranks (check_sink_ports()).
absl::StatusOr<std::vector<NamedSink>> make_sinks(const JobConfig& config, FileSystem& files,
                                                  int rank, int ranks);

}  // namespace millrace

#endif  // MILLRACE_SINKS_CONFIGURED_SINKS_H_
