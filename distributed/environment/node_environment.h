// The node of a job on which a process runs, by the variables PET_* of torchrun.
#ifndef MILLRACE_DISTRIBUTED_ENVIRONMENT_NODE_ENVIRONMENT_H_
#define MILLRACE_DISTRIBUTED_ENVIRONMENT_NODE_ENVIRONMENT_H_

#include <optional>

#include "absl/status/statusor.h"
#include "distributed/environment/environment_variables.h"

namespace millrace {

// A node of a job: a machine, or a pod. PET_* describe nodes and not ranks: torchrun reads them as
// defaults of its flags, and operators such as Kubeflow Trainer set them in each pod.
struct NodeEnvironment {
  int nodes = 1;  // PET_NNODES
  int node = 0;   // PET_NODE_RANK: the number of this node, in [0, nodes)
  // Number of ranks per node: PET_NPROC_PER_NODE. torchrun also accepts names ("auto", "cpu",
  // "gpu"), which are errors here.
  int ranks_per_node = 1;
  MasterAddress master;  // PET_MASTER_ADDR and PET_MASTER_PORT; empty for one rank
};

// Values of flags, which replace the values of the variables.
struct NodeFlags {
  std::optional<int> ranks_per_node = std::nullopt;
  std::optional<int> master_port = std::nullopt;
};

// Reads the variables through `get`. Returns none if PET_NNODES, PET_NODE_RANK and
// PET_NPROC_PER_NODE are not set.
// Errors: InvalidArgument naming the variable: not a number, or outside its range; with several
// nodes, a missing PET_NODE_RANK, address or port; more ranks than an int counts.
absl::StatusOr<std::optional<NodeEnvironment>> read_node_environment(const GetVariable& get,
                                                                     const NodeFlags& flags = {});

// Returns true if a launcher started this process on its node without a rank: PET_NODE_RANK is set,
// and neither LOCAL_RANK nor a RANK of another launcher. PyTorchJob sets RANK to the number of the
// node.
bool is_node_process(const GetVariable& get);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ENVIRONMENT_NODE_ENVIRONMENT_H_
