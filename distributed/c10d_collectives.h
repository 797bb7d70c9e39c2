// Collectives over processes, through c10d.
#ifndef MILLRACE_DISTRIBUTED_C10D_COLLECTIVES_H_
#define MILLRACE_DISTRIBUTED_C10D_COLLECTIVES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "distributed/collectives.h"
#include "distributed/rank_environment.h"
#include "distributed/rendezvous.h"

namespace millrace {

struct C10dOptions {
  RankEnvironment environment;
  JobIdentity identity;
  // Maximum time for all ranks to meet and to connect; for connecting at least 8 s.
  absl::Duration rendezvous_timeout = absl::Minutes(5);
  // Maximum time that a collective waits for a live rank that does not take part, and maximum
  // silence of a rank. Dead ranks are noticed at once. At least 1 s.
  absl::Duration collective_timeout = absl::Seconds(60);
  // Maximum time that a collective waits for a live rank that writes or loads its part of a
  // checkpoint.
  absl::Duration checkpoint_timeout = absl::Hours(2);
  // The CUDA device whose tensors this rank also sums, as the other ranks do for their devices.
  // Default: none; only CPU tensors are summed.
  std::optional<int> cuda_device;
  // Returns the signal that requests the rank to stop, or 0. Called on a thread of this class.
  // Default: no signal.
  std::function<int()> stop_signal;
  // Called on the same thread, possibly many times, if a signal requests another rank to stop while
  // this rank waits without limit: no exchange reports the signal before the data arrives. Default:
  // no call.
  std::function<void(int signal)> peer_stop_signal;
  // Called on a thread of this class after each write of the rank's state to the store. Tells a
  // test what other ranks can read. Default: none.
  std::function<void(RankPhase, int64_t step)> published;
  // Called on a thread of this class with each state of another rank that is read from the store:
  // of all ranks, twice a second, while this rank waits for more than a second; else of rank 0
  // alone. Default: none.
  std::function<void(int rank, RankPhase, int64_t step)> observed;
  // Name of the interface on which this rank listens, and rank 0 also for the store if MASTER_ADDR
  // is a loopback address there. Default: the one that leads to MASTER_ADDR.
  std::string interface;
  // If true, the table channel is the all-to-all of a c10d backend (c10d_exchange.h) instead of a
  // FrameMesh. Equal on all ranks.
  bool tables_over_c10d = false;
};

// Waits for all ranks of the job and connects them: by a ControlMesh for the control channel (so
// only sums up to about 100 KB proceed without wait()), by a FrameMesh or Gloo for the table
// channel and by Gloo for data; for tensors of `cuda_device` by device/device_channel.h. The store
// and all connections listen only on the address of MASTER_ADDR, or of the interface of the options
// or that leads to MASTER_ADDR. docs/distributed.md, "The secret of a job", says what protects
// them. If MASTER_ADDR is a loopback address on the machine of rank 0, reachable_addresses() and
// listen_for_ranks() decide, and the connections of the ranks there use the address by which other
// machines reached the store. From then on the process ignores SIGPIPE, unless it has a handler for
// the signal.
//
// Errors, on every rank within rendezvous_timeout, each naming the responsible rank if known:
// ResourceExhausted (too few open files), InvalidArgument (any error of reachable_addresses()),
// Unavailable (the port is taken, the master cannot be reached, ranks are missing),
// FailedPrecondition naming the difference (a rank came twice, then of kind kBusy, or differs in
// world size, job name, version, configuration or secret) and Aborted (a rank died or froze after
// it had come, or could not connect to another one, or a launcher's store failed). With
// `cuda_device` also any error of connect_device_channel().
absl::StatusOr<std::unique_ptr<Collectives>> connect_c10d(const C10dOptions& options);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_C10D_COLLECTIVES_H_
