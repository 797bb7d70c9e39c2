// Collectives over processes, through c10d.
#ifndef MILLRACE_DISTRIBUTED_C10D_COLLECTIVES_H_
#define MILLRACE_DISTRIBUTED_C10D_COLLECTIVES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "distributed/collectives.h"
#include "distributed/rank_environment.h"
#include "distributed/rendezvous.h"

namespace millrace {

struct C10dOptions {
  RankEnvironment environment;
  JobIdentity identity;
  // How long all ranks may take to come together.
  absl::Duration rendezvous_timeout = absl::Minutes(5);
  // How long a collective waits for a rank that is alive but does not take part, and how long a
  // rank may show no sign of life. Ranks that died are noticed at once. At least 1 s.
  absl::Duration collective_timeout = absl::Seconds(60);
  // The CUDA device whose tensors this rank sums, too, as the others do with theirs. Default: none;
  // only tensors of the CPU are summed.
  std::optional<int> cuda_device;
  // The signal that asks this rank to stop, 0 if there is none; called on a thread of this class.
  // Default: there is none.
  std::function<int()> stop_signal;
  // Called on that thread, perhaps many times, if a signal asks another rank to stop while this one
  // waits without limit: no exchange tells it until its data comes. Default: nothing is called.
  std::function<void(int signal)> peer_stop_signal;
  // Called on a thread of this class each time after it told the store what this rank does, so
  // that a test knows what the others can know. Default: none.
  std::function<void(RankPhase, int64_t step)> published;
};

// Brings all ranks of the job together and connects them: by a ControlMesh for the control channel
// (whose sums thus go on without being waited for only up to some 100 KB), by a FrameMesh for the
// table channel and by Gloo for data; tensors of `cuda_device` by device/device_channel.h. The
// store and all connections listen on the address of MASTER_ADDR, or the interface that leads to
// it, only; they have no authentication (docs/distributed.md). The process ignores SIGPIPE from
// then on, unless it handles it itself.
//
// Errors, on every rank within rendezvous_timeout, each naming the rank that is to blame where it
// can be known: Unavailable (the port is taken, the master cannot be reached, ranks are missing),
// FailedPrecondition (a rank came twice, or differs in world size, job name, version or
// configuration: says in what) and Aborted (a rank died or froze after it had come). With
// `cuda_device` also those of connect_device_channel().
absl::StatusOr<std::unique_ptr<Collectives>> connect_c10d(const C10dOptions& options);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_C10D_COLLECTIVES_H_
