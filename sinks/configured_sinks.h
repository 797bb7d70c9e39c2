// The sinks that a configuration names.
#ifndef MILLRACE_SINKS_CONFIGURED_SINKS_H_
#define MILLRACE_SINKS_CONFIGURED_SINKS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "hooks/sinks_hook.h"
#include "proto/config.pb.h"

namespace millrace {

// Makes the sinks of rank `rank` of `ranks`: run.sink, and a TensorBoard sink if
// run.report.tensorboard is true and run.sink has none. With several ranks, MLflow sinks wait for
// their servers for a quarter of distributed.collective_timeout_seconds at most. Borrows `files`.
// Errors: a sink's error, with its place in the configuration; InvalidArgument if ports do not
// suffice for `ranks` ranks (check_sink_ports()).
absl::StatusOr<std::vector<NamedSink>> make_sinks(const JobConfig& config, FileSystem& files,
                                                  int rank, int ranks);

}  // namespace millrace

#endif  // MILLRACE_SINKS_CONFIGURED_SINKS_H_
