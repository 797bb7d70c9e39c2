// Connection of this process with the other ranks of its job.
#ifndef MILLRACE_JOB_RANKS_H_
#define MILLRACE_JOB_RANKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/collectives.h"
#include "distributed/rank_environment.h"
#include "proto/config.pb.h"

namespace millrace {

class RankActivity;

// Returns the settings of `run` on which the sequence of collectives depends, one per line, such as
// "run.checkpoint.asynchronous: true".
std::string common_settings(const RunConfig& run);

// Connects with the other ranks of `environment`, with the timeouts of run.distributed. All ranks
// must have the same run.job_name, `train` and common_settings(); nothing else of `config` is read,
// so a program that creates its parts itself may pass a configuration with a name alone. In a job
// of one rank, connects with no other.
// `published`, `cuda_device`: see C10dOptions. `activity`: records phases and exchanges of the
// result, and the states of other ranks; borrowed. Null: none.
// Errors: InvalidArgument if this job cannot run on several ranks; FailedPrecondition if a rank
// joined twice or has another job, with the difference; Aborted if ranks are missing or the master
// cannot be reached.
absl::StatusOr<std::unique_ptr<Collectives>> join_ranks(
    const RankEnvironment& environment, const JobConfig& config,
    const std::function<void(RankPhase, int64_t step)>& published = nullptr,
    std::optional<int> cuda_device = std::nullopt, RankActivity* activity = nullptr);

// Checks that a single-rank command has no other ranks. Errors: InvalidArgument, also for an
// invalid environment of ranks.
absl::Status check_one_rank(absl::string_view command);

// Calls `work` on rank 0 while the other ranks wait, for any time. Errors: the errors of `work`; on
// the other ranks Aborted with the same message.
absl::Status on_rank_0(Collectives& collectives, const std::function<absl::Status()>& work);

// Returns the number of cores that this process may use; at least 1.
int machine_cores();

// Returns the threads of a rank: run.threads, or if 0 an equal share of the machine's cores.
int threads_of_rank(const RunConfig& run, int local_world_size);

// Returns a warning if a rank has more than four threads for each of the machine's `cores`, else
// "".
std::string many_threads_warning(int threads, int cores);

// Starts `count` - 1 threads in addition to the caller's thread, and ends them. libgomp ends the
// process if a thread cannot start, hence the check. Errors: errors of catch_exceptions().
absl::Status check_threads(int count);

}  // namespace millrace

#endif  // MILLRACE_JOB_RANKS_H_
