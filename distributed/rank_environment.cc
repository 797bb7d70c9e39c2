#include "distributed/rank_environment.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "distributed/environment/mpi_environment.h"
#include "distributed/environment/node_environment.h"
#include "distributed/store_seal.h"

namespace millrace {
namespace {

// A job has at most as many ranks as tables have parts (embedding/rows/placement.h).
constexpr int kMostRanks = 1024;

// Errors: InvalidArgument if the numbers cannot be those of one job. LOCAL_WORLD_SIZE is checked if
// it is set; it need not divide WORLD_SIZE: the nodes of SLURM may have different numbers of ranks.
absl::Status check_sizes(const RankEnvironment& environment, const GetVariable& get) {
  if (environment.world_size > kMostRanks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the job has ", environment.world_size, " ranks; at most ", kMostRanks, " are possible"));
  }
  if (!get("LOCAL_WORLD_SIZE")) return absl::OkStatus();
  if (environment.local_world_size > environment.world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("LOCAL_WORLD_SIZE is ", environment.local_world_size, ", but the job has ",
                     environment.world_size, " ranks on all machines"));
  }
  if (get("LOCAL_RANK") && environment.local_rank >= environment.local_world_size) {
    return absl::InvalidArgumentError(
        absl::StrCat("LOCAL_RANK is ", environment.local_rank, ", but LOCAL_WORLD_SIZE is ",
                     environment.local_world_size, "; ranks are counted from 0"));
  }
  return absl::OkStatus();
}

// Returns the rank of the only process of a node.
absl::StatusOr<RankEnvironment> rank_of_node(const NodeEnvironment& node, const GetVariable& get) {
  RankEnvironment environment;
  if (node.ranks_per_node > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("PET_NPROC_PER_NODE is \"", node.ranks_per_node,
                     "\", but this is one process; start the ranks of this node with `millrace "
                     "launch -- ...`, or set PET_NPROC_PER_NODE to 1"));
  }
  environment.rank = node.node;
  environment.world_size = node.nodes;
  RETURN_IF_ERROR(check_sizes(environment, get));
  environment.other_machines = node.nodes > 1;
  environment.master_address = node.master.host;
  environment.master_port = node.master.port;
  if (node.nodes > 1) {
    ASSIGN_OR_RETURN(environment.secret, read_job_secret(get));
  }
  return environment;
}

// Returns true for a process that srun alone started and that is given a master. SLURM's variables
// then describe the process. Where MpiDefault of SLURM is pmi2 or pmix, srun sets PMI_* or PMIX_*
// for every program.
bool is_rank_of_srun(const GetVariable& get) {
  if (!get("MASTER_ADDR") || !get("SLURM_PROCID")) return false;
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALRANKID"}) {
    if (get(variable)) return false;
  }
  return true;
}

// Returns the rank of a process that a launcher of MPI started.
absl::StatusOr<RankEnvironment> rank_of_mpi(const GetVariable& get, MpiEnvironment mpi) {
  RankEnvironment environment;
  RETURN_IF_ERROR(read_optional_number(get, "LOCAL_RANK", nullptr, 0, &mpi.local_rank));
  if (get("LOCAL_WORLD_SIZE")) {
    RETURN_IF_ERROR(read_optional_number(get, "LOCAL_WORLD_SIZE", nullptr, 1,
                                         &mpi.local_world_size.emplace(1)));
  }
  environment.rank = mpi.rank;
  environment.world_size = mpi.world_size;
  environment.local_rank = mpi.local_rank;
  environment.local_world_size = mpi.local_world_size.value_or(1);
  RETURN_IF_ERROR(check_sizes(environment, get));
  environment.other_machines =
      mpi.local_world_size && environment.local_world_size < environment.world_size;
  if (environment.world_size > 1) {
    ASSIGN_OR_RETURN(MasterAddress master, mpi_master_address(get, mpi));
    environment.master_address = master.host;
    environment.master_port = master.port;
    ASSIGN_OR_RETURN(environment.secret, read_job_secret(get));
  }
  return environment;
}

}  // namespace

absl::StatusOr<RankEnvironment> read_rank_environment(const GetVariable& get) {
  RankEnvironment environment;
  if (!get("WORLD_SIZE") && !get("RANK")) {
    if (!is_rank_of_srun(get)) {
      ASSIGN_OR_RETURN(std::optional<MpiEnvironment> mpi, read_mpi_environment(get));
      if (mpi) return rank_of_mpi(get, *mpi);
    }
    ASSIGN_OR_RETURN(std::optional<NodeEnvironment> node, read_node_environment(get));
    if (node) return rank_of_node(*node, get);
  }
  // A program that is started alone within an allocation has SLURM's variables, too. MASTER_ADDR
  // shows that ranks are intended.
  const bool slurm = get("MASTER_ADDR").has_value();
  ASSIGN_OR_RETURN(std::optional<VariableNumber> world,
                   read_number(get, "WORLD_SIZE", slurm ? "SLURM_NTASKS" : nullptr));
  ASSIGN_OR_RETURN(std::optional<VariableNumber> rank,
                   read_number(get, "RANK", slurm ? "SLURM_PROCID" : nullptr));
  if (!world && !rank) return environment;
  if (!world) return variable_not_set("WORLD_SIZE", absl::StrCat(rank->variable, " is"));
  RETURN_IF_ERROR(require_at_least(*world, 1));
  if (!rank) return variable_not_set("RANK", absl::StrCat(world->variable, " is"));
  RETURN_IF_ERROR(require_range(*rank, 0, world->value - 1));
  environment.world_size = world->value;
  environment.rank = rank->value;
  RETURN_IF_ERROR(read_optional_number(get, "LOCAL_RANK", slurm ? "SLURM_LOCALID" : nullptr, 0,
                                       &environment.local_rank));
  RETURN_IF_ERROR(
      read_optional_number(get, "LOCAL_WORLD_SIZE", nullptr, 1, &environment.local_world_size));
  RETURN_IF_ERROR(check_sizes(environment, get));
  environment.other_machines =
      get("LOCAL_WORLD_SIZE") && environment.local_world_size < environment.world_size;
  RETURN_IF_ERROR(read_optional_number(get, "TORCHELASTIC_RESTART_COUNT", nullptr, 0,
                                       &environment.restart_count));
  environment.agent_store = get("TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (environment.world_size > 1) {
    ASSIGN_OR_RETURN(MasterAddress master, read_master_address(get, "MASTER_ADDR", "MASTER_PORT"));
    environment.master_address = master.host;
    environment.master_port = master.port;
    ASSIGN_OR_RETURN(environment.secret, read_job_secret(get));
  }
  return environment;
}

absl::StatusOr<RankEnvironment> read_rank_environment() {
  return read_rank_environment(process_variable);
}

}  // namespace millrace
