// The ranks of a job on one node.
#ifndef MILLRACE_TOOLS_LAUNCH_NODE_RANKS_H_
#define MILLRACE_TOOLS_LAUNCH_NODE_RANKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "distributed/environment/node_environment.h"

namespace millrace {

// Ranks of a node; by default the only rank of a job of one node.
struct NodeRanks {
  int count = 1;       // ranks of this node; at least 1
  int first = 0;       // the first of them
  int world_size = 1;  // ranks of all nodes; at least first + count
  // Address of the rendezvous on rank 0. Port 0: a free port, only for a job of one node.
  MasterAddress master = {"127.0.0.1", 0};
};

// Returns the ranks that this node starts, according to PET_*
// (distributed/environment/node_environment.h), which `get` reads. Each node has the same number of
// ranks. Without PET_*, or with one node, the node starts all ranks of the job, which meet on this
// machine.
// Errors: errors of read_node_environment(); InvalidArgument if neither PET_* nor `flags` has the
// number of ranks.
absl::StatusOr<NodeRanks> read_node_ranks(const GetVariable& get, const NodeFlags& flags);

// Returns the assignments of RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and
// MASTER_PORT for a rank of this node, where `local_rank` is in [0, count).
std::vector<std::string> rank_variables(const NodeRanks& ranks, int local_rank, int port);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_LAUNCH_NODE_RANKS_H_
