// The rank of a process, from the variables that launchers set.
#ifndef MILLRACE_DISTRIBUTED_RANK_ENVIRONMENT_H_
#define MILLRACE_DISTRIBUTED_RANK_ENVIRONMENT_H_

#include <string>

#include "absl/status/statusor.h"
#include "distributed/environment/environment_variables.h"

namespace millrace {

// MPI: a variable of distributed/environment/mpi_environment.h.
struct RankEnvironment {
  int rank = 0;                // RANK, else MPI, else PET_NODE_RANK, else SLURM_PROCID
  int world_size = 1;          // WORLD_SIZE, else MPI, else PET_NNODES, else SLURM_NTASKS
  int local_rank = 0;          // LOCAL_RANK, else MPI, else SLURM_LOCALID, else 0
  int local_world_size = 1;    // ranks on this machine: LOCAL_WORLD_SIZE, else MPI, else 1
  std::string master_address;  // MASTER_ADDR, or PET_MASTER_ADDR, or 127.0.0.1 (MPI)
  int master_port = 0;         // MASTER_PORT, or PET_MASTER_PORT, or derived from the job (MPI)
  // If true, the launcher itself serves a c10d store at the master address
  // (TORCHELASTIC_USE_AGENT_STORE is "True", as torchrun sets it), and rank 0 connects to the store
  // as the other ranks do.
  bool agent_store = false;
  // Number of restarts of the ranks by the launcher (TORCHELASTIC_RESTART_COUNT, else 0). May
  // differ among ranks whose agents count restarts for themselves.
  int restart_count = 0;
  // If true, ranks run on other machines: LOCAL_WORLD_SIZE or the variable of MPI is set and below
  // the world size, or PET_NNODES is above 1. If false and local_world_size is below world_size,
  // ranks may run on other machines.
  bool other_machines = false;
  // Bytes of MILLRACE_JOB_SECRET (distributed/store_seal.h), with more than one rank; "": none.
  // Must not appear in any output.
  std::string secret;
};

// Reads the variables through `get`.
//
// WORLD_SIZE and RANK come first. If neither is set, the variables of MPI describe the process;
// they are ignored if MASTER_ADDR and SLURM_PROCID are set and neither OMPI_COMM_WORLD_* nor
// MPI_LOCALRANKID is, since srun may set PMI_* or PMIX_* for every program. Without these and with
// PET_* (distributed/environment/node_environment.h), the process is the only one of its node, and
// the rank is the number of the node. SLURM's variables are read only if MASTER_ADDR is set; a
// single program started inside an allocation stays one rank. Without all these variables the job
// has one rank.
//
// Errors: InvalidArgument naming the variable, its value and the expected value, if a number is
// missing or invalid, a rank is outside [0, world size), a port is outside [1, 65535], an address
// is empty, a local world size is below 1, a restart count is below 0, or PET_NPROC_PER_NODE is
// above 1; also any error of read_mpi_environment(), mpi_master_address(), read_node_environment()
// and read_job_secret().
absl::StatusOr<RankEnvironment> read_rank_environment(const GetVariable& get);
absl::StatusOr<RankEnvironment> read_rank_environment();  // from the variables of the process

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_RANK_ENVIRONMENT_H_
