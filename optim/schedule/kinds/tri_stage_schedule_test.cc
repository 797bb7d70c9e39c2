#include "optim/schedule/kinds/tri_stage_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(TriStageScheduleTest, RisesHoldsAndDecays) {
  const auto schedule = make_schedule(
      "tri_stage { length { count: 10 } warmup_ratio: 0.2 hold_ratio: 0.4 start_factor: 0.5 "
      "final_factor: 0.0625 }",
      16);
  EXPECT_EQ(schedule->rate_at(0), 8);
  EXPECT_EQ(schedule->rate_at(1), 12);
  EXPECT_EQ(schedule->rate_at(2), 16);
  EXPECT_EQ(schedule->rate_at(6), 16);
  EXPECT_DOUBLE_EQ(schedule->rate_at(7), 8);
  EXPECT_DOUBLE_EQ(schedule->rate_at(9), 2);
  EXPECT_EQ(schedule->rate_at(10), 1);
  EXPECT_EQ(schedule->rate_at(11), 1);
  EXPECT_EQ(schedule->end(), 10);
}

TEST(TriStageScheduleTest, IsDecayAloneByDefault) {
  const auto schedule = make_schedule("tri_stage { length { count: 2 } }");
  EXPECT_EQ(schedule->rate_at(0), 1);
  EXPECT_DOUBLE_EQ(schedule->rate_at(1), 0.1);
  EXPECT_EQ(schedule->rate_at(2), 0.01);
}

TEST(TriStageScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("tri_stage { length { share: 2 } warmup_ratio: 0.5 hold_ratio: 0.5 "
                               "start_factor: -1 final_factor: 0 }"),
            "s.tri_stage.length: share is 2; must be above 0 and at most 1\n"
            "s.tri_stage: warmup_ratio + hold_ratio is 1; must be below 1, so that the decay has a "
            "length\n"
            "s.tri_stage: start_factor is -1; must be 0 to 1\n"
            "s.tri_stage: final_factor is 0; must be above 0 and at most 1");
}

}  // namespace
}  // namespace millrace
