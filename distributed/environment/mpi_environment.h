// The rank of a process that a launcher of MPI started.
#ifndef MILLRACE_DISTRIBUTED_ENVIRONMENT_MPI_ENVIRONMENT_H_
#define MILLRACE_DISTRIBUTED_ENVIRONMENT_MPI_ENVIRONMENT_H_

#include <optional>

#include "absl/status/statusor.h"
#include "distributed/environment/environment_variables.h"

namespace millrace {

// The variables of the first launcher in this order whose rank or world size is set. An inner
// launcher's processes inherit the variables of the outer one: mpirun of Open MPI starts its
// processes within a step of SLURM, which has PMI_* or PMIX_* of its own.
//
//   Open MPI: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK,
//     OMPI_COMM_WORLD_LOCAL_SIZE
//   MPICH, Intel MPI, srun --mpi=pmi2: PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, MPI_LOCALNRANKS
//   srun --mpi=pmix: PMIX_RANK, SLURM_STEP_NUM_TASKS
//
// Where srun alone started the process, SLURM_LOCALID is its local rank, and all ranks are on this
// machine if SLURM_STEP_NUM_NODES is 1.
struct MpiEnvironment {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::optional<int> local_world_size;  // ranks on this machine; none: not known
  const char* rank_variable = nullptr;
};

// Reads the variables through `get`. Returns none if no rank and no world size is set.
// Errors: InvalidArgument naming the variable: one of rank and world size is missing, a value is
// not a whole number, or a number is outside its range.
absl::StatusOr<std::optional<MpiEnvironment>> read_mpi_environment(const GetVariable& get);

// Returns the address at which rank 0 serves the rendezvous: MASTER_ADDR and MASTER_PORT. If
// MASTER_ADDR is not set and all ranks are on this machine, returns 127.0.0.1 and MASTER_PORT, by
// default a port in [15000, 30000) that is the same for all ranks of the job: a hash of
// PMIX_NAMESPACE, PMI_JOBID, the job and step of SLURM, or the process that serves PMI_FD.
// Errors: InvalidArgument: errors of read_master_address(); MASTER_ADDR is not set, but ranks run
// or may run on other machines; no variable identifies the job.
absl::StatusOr<MasterAddress> mpi_master_address(const GetVariable& get,
                                                 const MpiEnvironment& environment);

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_ENVIRONMENT_MPI_ENVIRONMENT_H_
