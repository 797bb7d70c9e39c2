// Ranks of a job with tables that fail in every phase of a step, and ranks that get signals.
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
  std::string directory;  // empty, and used by nobody else
  // Cases that run at the same time.
  int parallel = 4;
  // How long a rank may show no sign of life or not take part.
  absl::Duration collective_timeout = absl::Seconds(5);
  // How long the other ranks may take to leave after one was killed or exited. Those of a frozen
  // one may take twice the time-out and `slack`.
  absl::Duration limit = absl::Seconds(10);
  absl::Duration slack = absl::ZeroDuration();
};

// Every phase × {killed, frozen, exits} × each of three ranks, with ordinals that the seed chooses.
std::vector<InjectedFailure> all_rank_failures(uint64_t seed);
// `count` signals to random ranks in random phases.
std::vector<InjectedFailure> random_rank_signals(uint64_t seed, int64_t count);

// Trains a job of three processes for each failure (tests/ranks/failing_rank.h). Checked: the
// failure happens; each other rank ends in time with the exit code 76 and names the rank, its phase
// and its step; after a failure in a save, a job that resumes finishes. After a SIGTERM all ranks
// stop after the same step, and the newest checkpoint is that of this step. Nothing is left: no
// process, no held lock, no temporary directory. Figures: cases, and hits of each phase.
// REQUIRES: this process has one thread and has not computed with tensors.
CampaignResult run_rank_failures(const std::vector<InjectedFailure>& failures,
                                 const RankFailuresOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_RANK_FAILURE_CAMPAIGN_H_
