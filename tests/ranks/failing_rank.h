// One rank of a small job with an embedding table over ranks, in which ranks fail.
#ifndef MILLRACE_TESTS_RANKS_FAILING_RANK_H_
#define MILLRACE_TESTS_RANKS_FAILING_RANK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "distributed/rank_environment.h"
#include "tests/ranks/failure_injector.h"

namespace millrace {

struct FailingRankOptions {
  RankEnvironment environment;
  std::vector<InjectedFailure> failures;  // at most one for each rank
  // The folder of checkpoints, and their options (SaverOptions).
  std::string folder;
  bool asynchronous = false;
  int max_deltas = 0;
  // The time that the disk of rank `stalled_rank` takes to create its second file; sets failed_at
  // in the record. Default: no time.
  absl::Duration stall = absl::ZeroDuration();
  int stalled_rank = 0;
  // If true, the job resumes from the newest checkpoint. Errors: NotFound if there is none.
  bool resume = false;
  absl::Duration collective_timeout = absl::Seconds(20);
  absl::Duration rendezvous_timeout = absl::Minutes(1);
};

// Connects this rank to the others and trains: 12 steps in 3 windows, the last two of which arrive
// late; an evaluation after steps 3, 6 and 9; checkpoints after steps 4 and 8 and at the end. Rows
// of the table are evicted: rows that did not occur for some steps by `evict_rows`, and the least
// recent rows by a limit. Sets the end of this rank in the record, once the rank has left the job.
// Returns the outcome of the training: "completed at step 12", "to run again: stopped (signal) at
// step 7". The program ends with the exit code 75 for "to run again" (Summary::stopped_by_rank).
// Errors: any error of the training.
absl::StatusOr<std::string> run_failing_rank(const FailingRankOptions& options,
                                             FailureRecord& record);

}  // namespace millrace

#endif  // MILLRACE_TESTS_RANKS_FAILING_RANK_H_
