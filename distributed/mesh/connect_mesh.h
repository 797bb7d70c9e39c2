// Connects each rank to every other rank.
#ifndef MILLRACE_DISTRIBUTED_MESH_CONNECT_MESH_H_
#define MILLRACE_DISTRIBUTED_MESH_CONNECT_MESH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "base/net/socket.h"
#include "distributed/mesh/job_store.h"

namespace millrace {

struct MeshOptions {
  // Name of the connections; used once per start of the job.
  std::string channel = "control";
  int rank = 0;
  int world_size = 1;
  std::string ip;  // IP of this machine; other ranks connect to it, on a free port
  absl::Duration timeout = absl::Seconds(8);
  // detect_loss() of the connections.
  absl::Duration loss_limit = absl::Minutes(2);
  // Called about every 100 ms while ranks are missing; an error ends connect_mesh(). Default: no
  // call.
  std::function<absl::Status()> interrupted = nullptr;
  // Called before connect_mesh() fails because this rank refuses or closes connections. Default: no
  // call.
  std::function<void(int rank)> refused = nullptr;
  // Returns 32 characters that only ranks of this job can compute from `challenge`
  // (StoreSeal::prove()). Null: ranks send the random word of the store itself.
  std::function<std::string(absl::string_view challenge)> prove = nullptr;
};

// Connects all ranks. During the call each rank listens on a port, publishes the address in the
// store, and connects to all lower ranks at the same time, while it accepts the others. A rank to
// which the network gives no way is called again until the time-out. Both sides of a connection
// first send their rank and a random word that the ranks share through the store, or with
// options.prove a proof made of this word and of both ranks. A peer without the word or proof, or a
// silent peer, is ignored: the word prevents accidents, not attacks by eavesdroppers.
//
// `store` must be new for each start of the job. Blocks; all ranks call connect_mesh() at about the
// same time.
//
// Returns non-blocking TCP connections, by rank, from which nothing has been read; none at `rank`.
// Errors: Unavailable (`ip` is not of this machine, the store is gone), Aborted naming the ranks
// that refused the connection, could not be reached or did not come in time; any error of
// `interrupted`.
absl::StatusOr<std::vector<Socket>> connect_mesh(const MeshOptions& options, JobStore& store);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_CONNECT_MESH_H_
