// This process among the ranks of its job.
#ifndef MILLRACE_JOB_RANKS_H_
#define MILLRACE_JOB_RANKS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "distributed/collectives.h"
#include "distributed/rank_environment.h"
#include "proto/config.pb.h"

namespace millrace {

// Connects with the other ranks that `environment` tells of, with the times of run.distributed; all
// must have the same run.job_name and `train`. Without others it connects with nobody.
// `published`, `cuda_device`: see C10dOptions.
// Errors: InvalidArgument if this job cannot run on several ranks; FailedPrecondition if a rank
// came twice or has another job, saying what differs; Aborted if ranks are missing or the master
// cannot be reached.
absl::StatusOr<std::unique_ptr<Collectives>> join_ranks(
    const RankEnvironment& environment, const JobConfig& config,
    const std::function<void(RankPhase, int64_t step)>& published = nullptr,
    std::optional<int> cuda_device = std::nullopt);

// For a command that runs on one rank. Errors: InvalidArgument, also where others are told of that
// cannot be.
absl::Status check_one_rank(absl::string_view command);

// Does `work` on rank 0 while the others wait for it, however long that takes.
// Errors: those of `work`, on the others as Aborted.
absl::Status on_rank_0(Collectives& collectives, const std::function<absl::Status()>& work);

// Threads of one rank: run.threads, or if that is 0 its share of the machine's cores.
int threads_of_rank(const RunConfig& run, int local_world_size);

// Starts `count` - 1 threads beside the caller's, and ends them. libgomp ends the process if it
// cannot start its threads, so they are tried before. Errors: those of catch_exceptions().
absl::Status check_threads(int count);

}  // namespace millrace

#endif  // MILLRACE_JOB_RANKS_H_
