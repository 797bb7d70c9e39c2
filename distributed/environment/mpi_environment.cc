#include "distributed/environment/mpi_environment.h"

#include <sys/socket.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

struct MpiVariables {
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* local_world_size;
};

constexpr MpiVariables kLaunchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    // SLURM_STEP_NUM_TASKS describes the step that set PMIX_RANK. SLURM_NTASKS may be that of the
    // allocation, which a single program inside it inherits.
    {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", nullptr, nullptr},
};

// Returns the variables of the launcher that started this process; none if no launcher of MPI did.
const MpiVariables* launcher_variables(const GetVariable& get) {
  for (const MpiVariables& launcher : kLaunchers) {
    const bool is_pmix = launcher.local_rank == nullptr;
    if (get(launcher.rank) || (!is_pmix && get(launcher.world_size))) return &launcher;
  }
  return nullptr;
}

// Reads the numbers of this machine, which all launchers leave out in some version.
absl::Status read_local_ranks(const GetVariable& get, const MpiVariables& launcher,
                              MpiEnvironment* environment) {
  const bool is_srun = launcher.local_rank == nullptr || !get(launcher.local_rank);
  RETURN_IF_ERROR(read_optional_number(get, is_srun ? "SLURM_LOCALID" : launcher.local_rank,
                                       nullptr, 0, &environment->local_rank));
  if (is_srun) {
    if (get("SLURM_STEP_NUM_NODES") == "1") environment->local_world_size = environment->world_size;
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::optional<VariableNumber> local,
                   read_number(get, launcher.local_world_size));
  if (!local) return absl::OkStatus();
  RETURN_IF_ERROR(require_range(*local, 1, environment->world_size));
  environment->local_world_size = local->value;
  return absl::OkStatus();
}

// Returns the process that made the socket PMI_FD of this process: the part of mpiexec that serves
// all ranks of this machine. Returns 0 if there is none.
pid_t pmi_server(const GetVariable& get) {
  const absl::StatusOr<std::optional<VariableNumber>> fd = read_number(get, "PMI_FD");
  if (!fd.ok() || !fd->has_value()) return 0;
  ucred server = {};
  socklen_t size = sizeof server;
  if (::getsockopt((*fd)->value, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0) return 0;
  return server.pid;
}

// Returns a text that is the same for all ranks of the job on this machine, and another one for
// another job; "" if nothing identifies the job.
std::string job_identity(const GetVariable& get) {
  for (const char* variable : {"PMIX_NAMESPACE", "PMI_JOBID"}) {
    if (const std::optional<std::string> value = get(variable)) return *value;
  }
  if (const pid_t server = pmi_server(get); server > 0) return absl::StrCat(server);
  const std::optional<std::string> job = get("SLURM_JOB_ID"), step = get("SLURM_STEP_ID");
  return job && step ? absl::StrCat(*job, ".", *step) : "";
}

}  // namespace

absl::StatusOr<std::optional<MpiEnvironment>> read_mpi_environment(const GetVariable& get) {
  const MpiVariables* launcher = launcher_variables(get);
  if (launcher == nullptr) return std::nullopt;
  MpiEnvironment environment;
  environment.rank_variable = launcher->rank;
  ASSIGN_OR_RETURN(std::optional<VariableNumber> world, read_number(get, launcher->world_size));
  if (!world) {
    return variable_not_set(launcher->world_size,
                            absl::StrCat(launcher->rank,
                                         " is; if the launcher does not set it, set WORLD_SIZE and "
                                         "RANK"));
  }
  RETURN_IF_ERROR(require_at_least(*world, 1));
  ASSIGN_OR_RETURN(std::optional<VariableNumber> rank, read_number(get, launcher->rank));
  if (!rank) return variable_not_set(launcher->rank, absl::StrCat(launcher->world_size, " is"));
  RETURN_IF_ERROR(require_range(*rank, 0, world->value - 1));
  environment.world_size = world->value;
  environment.rank = rank->value;
  RETURN_IF_ERROR(read_local_ranks(get, *launcher, &environment));
  return environment;
}

absl::StatusOr<MasterAddress> mpi_master_address(const GetVariable& get,
                                                 const MpiEnvironment& environment) {
  if (get("MASTER_ADDR")) return read_master_address(get, "MASTER_ADDR", "MASTER_PORT");
  if (environment.local_world_size != environment.world_size) {
    const std::string here = environment.local_world_size
                                 ? absl::StrCat(*environment.local_world_size, " are")
                                 : "an unknown number is";
    return variable_not_set(
        "MASTER_ADDR",
        absl::StrCat("there are ", environment.world_size, " ranks, of which ", here,
                     " on this machine; give it and MASTER_PORT to every rank: the name of the "
                     "machine of rank 0 and a free port there (mpirun -x MASTER_ADDR=HOST -x "
                     "MASTER_PORT=29500, mpiexec -genv MASTER_ADDR HOST -genv MASTER_PORT 29500)"));
  }
  constexpr int kLowestPort = 15000, kPorts = 15000;  // below the ports that systems give out
  std::string port;
  if (const std::optional<std::string> given = get("MASTER_PORT")) {
    port = *given;
  } else {
    const std::string job = job_identity(get);
    if (job.empty()) {
      return variable_not_set("MASTER_PORT",
                              "there is more than one rank, and the launcher sets no variable from "
                              "which all ranks could take the same port");
    }
    port = absl::StrCat(kLowestPort + xxh3(job) % kPorts);
  }
  const GetVariable local = [&](const char* name) -> std::optional<std::string> {
    return name == absl::string_view("MASTER_PORT") ? port : "127.0.0.1";
  };
  return read_master_address(local, "MASTER_ADDR", "MASTER_PORT");
}

}  // namespace millrace
