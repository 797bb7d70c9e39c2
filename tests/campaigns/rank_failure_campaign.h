// Failures and signals of ranks of a job with tables, in every phase of a step.
#ifndef MILLRACE_TESTS_CAMPAIGNS_RANK_FAILURE_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_RANK_FAILURE_CAMPAIGN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/campaigns/campaign.h"
#include "tests/ranks/failure_injector.h"

namespace millrace {

struct RankFailuresOptions {
  uint64_t seed = 1;
  std::string directory;  // empty, and used only by this campaign
  // The number of cases that run at the same time.
  int parallel = 4;
  // The longest time without a sign of life from a rank, or without its part in a collective.
  absl::Duration collective_timeout = absl::Seconds(5);
  // The longest time until the other ranks leave after the process of a rank ended. After a frozen
  // or looping rank, ranks may take twice the time-out and `slack`.
  absl::Duration limit = absl::Seconds(10);
  absl::Duration slack = absl::ZeroDuration();
};

// The failures of one job, of different ranks. A second failure may come too late.
using RankFailures = std::vector<InjectedFailure>;

// Returns every phase × {killed, frozen, exits} × each of three ranks, with ordinals that the seed
// chooses; then every phase × {crashes, loops} × each rank, without loops in phases in which the
// other ranks wait without limit.
std::vector<RankFailures> all_rank_failures(uint64_t seed);
// Returns the number of cases whose first failure is in `phase`.
int64_t count_in(const std::vector<RankFailures>& cases, FailurePhase phase);
// Returns pairs of ranks, each killed, frozen or exiting in a random phase.
std::vector<RankFailures> random_rank_pairs(uint64_t seed, int64_t count);
// Returns SIGTERMs to random ranks in random phases.
std::vector<RankFailures> random_rank_signals(uint64_t seed, int64_t count);

// Trains jobs of three processes with a time-out of two seconds, in which the disk of one rank
// stalls for four seconds in a save: of the first and of the last rank, with synchronous and
// asynchronous savers. Checks that all ranks complete. REQUIRES: as run_rank_failures().
CampaignResult run_stalled_disks(const RankFailuresOptions& options);

// Trains a job of three processes for each case (tests/ranks/failing_rank.h). Checks:
// * A failure happens. Each other rank ends in time with the exit code 76 and names the rank, its
//   phase and its step; of two failed ranks, one of them. A frozen rank that continues afterwards
//   ends with 76, too.
// * After a SIGTERM all ranks stop after the same step, as jobs that should run again, and the
//   newest checkpoint is of this step; before the first step there is none. Only a signal during
//   the last save comes too late.
// * A job that resumes after a failure or a stop finishes with the content of a job without a
//   failure, by the digests of its last checkpoint.
// * Nothing is left: no process, no held lock, no temporary directory.
//
// Figures: cases, hits of each phase, and the longest time until ranks left.
// REQUIRES: the process has one thread and has not computed with tensors.
CampaignResult run_rank_failures(const std::vector<RankFailures>& cases,
                                 const RankFailuresOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_RANK_FAILURE_CAMPAIGN_H_
