// Connects every rank to every other one.
#ifndef MILLRACE_DISTRIBUTED_MESH_CONNECT_MESH_H_
#define MILLRACE_DISTRIBUTED_MESH_CONNECT_MESH_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "distributed/mesh/job_store.h"
#include "distributed/mesh/sockets.h"

namespace millrace {

struct MeshOptions {
  // Name of the connections; connections of one name are made once for each start of the job.
  std::string channel = "control";
  int rank = 0;
  int world_size = 1;
  std::string ip;  // of this machine; the others reach it there, on a port that is free
  absl::Duration timeout = absl::Seconds(8);
};

// Each rank listens on a port of its own while this runs, tells the others in the store where, and
// connects to all lower ranks. Both sides of a connection begin with who they are and a random word
// that the ranks share through the store. Who does not know it, or says nothing, is ignored: that
// keeps accidents out, not attackers who read along.
//
// `store` must be new for each start of the job. Blocks; all ranks call it at about the same time.
//
// Returns: by rank, non-blocking TCP connections with nothing in them; none at `rank`.
// Errors: Unavailable (`ip` is not of this machine, the store is gone), Aborted naming the ranks
// that could not be reached or did not come in time.
absl::StatusOr<std::vector<Socket>> connect_mesh(const MeshOptions& options, JobStore& store);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_CONNECT_MESH_H_
