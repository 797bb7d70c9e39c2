// A short version of the campaign rank_failures: a failure in each phase, and a few signals.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "tests/campaigns/rank_failure_campaign.h"

namespace millrace {
namespace {

// Allows long times, because on a busy machine they say nothing about the ranks.
RankFailuresOptions options_for(const char* name) {
  RankFailuresOptions options;
  options.directory = testing::TempDir() + "/" + name;
  options.slack = absl::Minutes(1);
  options.collective_timeout = absl::Seconds(3);
  return options;
}

// Runs one of the first nine cases of each phase, with alternating kinds and ranks, then a crash
// and a loop.
TEST(RankFailuresTest, EachPhase) {
  const std::vector<RankFailures> all = all_rank_failures(/*seed=*/1);
  std::vector<RankFailures> chosen;
  for (size_t phase = 0; phase < kFailurePhases; ++phase) {
    chosen.push_back(all[9 * phase + (4 * phase) % 9]);
  }
  for (const InjectedFailure& wanted :
       {InjectedFailure{FailurePhase::kRows, InjectedKind::kCrash, 0},
        InjectedFailure{FailurePhase::kForward, InjectedKind::kLoop, 1}}) {
    chosen.push_back(*std::find_if(all.begin(), all.end(), [&](const RankFailures& failures) {
      return failures[0].phase == wanted.phase && failures[0].kind == wanted.kind &&
             failures[0].rank == wanted.rank;
    }));
  }
  const CampaignResult result = run_rank_failures(chosen, options_for("failures"));
  std::cout << "skipped " << all.size() - chosen.size() << " of " << all.size()
            << " cases; all: ./bazelw test //tests/campaigns:rank_failures\n"
            << result.to_string() << std::endl;
  EXPECT_EQ(result.violations(), 0) << result.to_string();
  for (const FailurePhaseEntry& entry : failure_phases()) {
    EXPECT_EQ(result.figure(std::string(entry.name) + " hit"), count_in(chosen, entry.phase))
        << entry.name;
  }
}

TEST(RankFailuresTest, TwoRanks) {
  const CampaignResult result =
      run_rank_failures(random_rank_pairs(/*seed=*/1, 4), options_for("pairs"));
  std::cout << "skipped 46 of 50 cases; all: ./bazelw test //tests/campaigns:rank_failures\n"
            << result.to_string() << std::endl;
  EXPECT_EQ(result.violations(), 0) << result.to_string();
}

TEST(RankFailuresTest, AStalledDiskFailsNobody) {
  const CampaignResult result = run_stalled_disks(options_for("disks"));
  EXPECT_EQ(result.violations(), 0) << result.to_string();
  EXPECT_EQ(result.figure("cases"), 4);
}

TEST(RankFailuresTest, SignalsStopAllRanksAfterTheSameStep) {
  const CampaignResult result =
      run_rank_failures(random_rank_signals(/*seed=*/1, 6), options_for("signals"));
  std::cout << "skipped 44 of 50 cases; all: ./bazelw test //tests/campaigns:rank_failures\n"
            << result.to_string() << std::endl;
  EXPECT_EQ(result.violations(), 0) << result.to_string();
}

}  // namespace
}  // namespace millrace
