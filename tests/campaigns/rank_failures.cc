// The long version of rank_failures_test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tests/campaigns/rank_failure_campaign.h"

namespace millrace {
namespace {

// Returns MILLRACE_SEED, which chooses the moment within each phase.
uint64_t seed() {
  const char* seed = std::getenv("MILLRACE_SEED");
  return seed != nullptr ? std::stoull(seed) : 1;
}

RankFailuresOptions options_for(const char* name) {
  RankFailuresOptions options;
  options.directory = testing::TempDir() + "/" + name;
  return options;
}

TEST(RankFailuresCampaign, EveryPhaseKindAndRank) {
  const std::vector<RankFailures> all = all_rank_failures(seed());
  const CampaignResult result = run_rank_failures(all, options_for("failures"));
  std::cout << result.to_string() << std::endl;
  EXPECT_EQ(result.violations(), 0);
  for (const FailurePhaseEntry& entry : failure_phases()) {
    EXPECT_EQ(result.figure(std::string(entry.name) + " hit"), count_in(all, entry.phase))
        << entry.name;
  }
}

TEST(RankFailuresCampaign, FiftyPairsOfRanks) {
  const CampaignResult result =
      run_rank_failures(random_rank_pairs(seed(), 50), options_for("pairs"));
  std::cout << result.to_string() << std::endl;
  EXPECT_EQ(result.violations(), 0);
}

TEST(RankFailuresCampaign, FiftySignals) {
  const CampaignResult result =
      run_rank_failures(random_rank_signals(seed(), 50), options_for("signals"));
  std::cout << result.to_string() << std::endl;
  EXPECT_EQ(result.violations(), 0);
}

}  // namespace
}  // namespace millrace
