// The sinks that a configuration names, and their checks.
#ifndef MILLRACE_SINKS_CONFIGURED_SINKS_H_
#define MILLRACE_SINKS_CONFIGURED_SINKS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "framework/report/sink.h"
#include "proto/config.pb.h"
#include "sinks/prometheus/health_report.h"

namespace millrace {

// Checks run.sink: kinds, registered names, places, and ports for a job of one rank. Errors:
// InvalidArgument with all mistakes and their places.
absl::Status check_sinks(const RunConfig& run);

// The place of a process in its job.
struct SinkRank {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;        // number of the rank on its machine
  int local_world_size = 1;  // ranks on this machine
};

// Checks the ports of Prometheus sinks of a rank, and of the others, all of which may run on its
// machine; with port_by_local_rank of local_world_size ranks. Errors: InvalidArgument if a port is
// above 65535 or two sinks need the same port of an address.
absl::Status check_sink_ports(const RunConfig& run, const SinkRank& rank);

// Returns the directories, relative to run.output_dir, that built-in sinks write to, including a
// sink that is not listed in run.sink.
std::vector<std::string> sink_directories(const RunConfig& run);

// Sinks that listen before the others are made, by their place in run.sink, or their errors.
using ListeningSinks = std::map<int, absl::StatusOr<std::unique_ptr<Sink>>>;

// Makes the Prometheus sinks of a rank, so that a probe gets an answer of `health` while the run
// loads. Logs their addresses.
ListeningSinks listen_early(const JobConfig& config, const SinkRank& rank,
                            const HealthCheck& health);

// Makes the sinks of a rank: run.sink, and a TensorBoard sink if run.report.tensorboard is true and
// run.sink has none. Sinks of `listening` are taken from there; without it, Prometheus sinks have
// no /healthz. With several ranks, MLflow sinks wait for their servers for a quarter of
// distributed.collective_timeout_seconds at most. Borrows `files`.
// Errors: a sink's error, with its place in the configuration; InvalidArgument if ports do not
// suffice for all ranks (check_sink_ports()).
absl::StatusOr<std::vector<NamedSink>> make_sinks(const JobConfig& config, FileSystem& files,
                                                  const SinkRank& rank,
                                                  ListeningSinks listening = {});

}  // namespace millrace

#endif  // MILLRACE_SINKS_CONFIGURED_SINKS_H_
