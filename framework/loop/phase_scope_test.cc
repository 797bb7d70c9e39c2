#include "framework/loop/phase_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "distributed/one_rank_collectives.h"

namespace millrace {
namespace {

class PhaseLog : public OneRankCollectives {
 public:
  void set_phase(RankPhase phase, int64_t step) override {
    all.push_back(absl::StrCat(rank_phase_name(phase), " ", step));
  }
  std::vector<std::string> all;
};

TEST(PhaseScopeTest, ReportsBothPhasesWithTheStepOfTheMoment) {
  PhaseLog ranks;
  LoopPosition position;
  {
    const PhaseScope scope(ranks, position, RankPhase::kCheckpoint);
    position.progress.step = 1;
    ++position.progress.skipped_steps;
  }
  { const PhaseScope scope(ranks, position, RankPhase::kCheckpoint, RankPhase::kStart); }
  EXPECT_THAT(ranks.all,
              testing::ElementsAre(
                  "checkpoint 0", absl::StrCat(rank_phase_name(RankPhase::kBetweenSteps), " 2"),
                  "checkpoint 2", absl::StrCat(rank_phase_name(RankPhase::kStart), " 2")));
}

}  // namespace
}  // namespace millrace
