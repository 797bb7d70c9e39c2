#include "optim/schedule/kinds/cosine_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(CosineScheduleTest, OneCycleEndsAtTheFinalRate) {
  const auto schedule = make_schedule("cosine { length { count: 8 } final_factor: 0.2 }", 10);
  EXPECT_EQ(schedule->rate_at(0), 10);
  EXPECT_DOUBLE_EQ(schedule->rate_at(4), 6);
  EXPECT_EQ(schedule->rate_at(8), 2);
  EXPECT_EQ(schedule->rate_at(9), 2);
  EXPECT_EQ(schedule->end(), 8);
}

TEST(CosineScheduleTest, WarmupIsPartOfTheLength) {
  const auto schedule = make_schedule(
      "cosine { length { count: 12 } warmup { length { count: 4 } start_factor: 0.5 } }", 10);
  EXPECT_EQ(schedule->rate_at(0), 5);
  EXPECT_EQ(schedule->rate_at(2), 7.5);
  EXPECT_EQ(schedule->rate_at(4), 10);
  EXPECT_DOUBLE_EQ(schedule->rate_at(8), 5);
  EXPECT_EQ(schedule->rate_at(12), 0);
}

TEST(CosineScheduleTest, CyclesGrowAndDecay) {
  const auto schedule = make_schedule(
      "cosine { length { count: 4 } cycles: 3 cycle_multiplier: 2 cycle_decay: 0.5 "
      "final_factor: 0.25 }",
      16);
  EXPECT_EQ(schedule->rate_at(0), 16);
  EXPECT_DOUBLE_EQ(schedule->rate_at(2), 10);
  EXPECT_EQ(schedule->rate_at(4), 8);
  EXPECT_DOUBLE_EQ(schedule->rate_at(8), 5);
  EXPECT_EQ(schedule->rate_at(12), 4);
  EXPECT_DOUBLE_EQ(schedule->rate_at(20), 2.5);
  EXPECT_EQ(schedule->rate_at(28), 1);
  EXPECT_EQ(schedule->rate_at(100), 1);
  EXPECT_EQ(schedule->end(), 28);
}

TEST(CosineScheduleTest, RestartsOnTheStepInSpiteOfRounding) {
  // The cycles 1000, 1100, 1210, 1331 end at whole steps.
  const auto grow =
      make_schedule("cosine { length { count: 1000 } cycles: 0 cycle_multiplier: 1.1 }");
  for (const double start : {0, 1000, 2100, 3310, 4641}) EXPECT_EQ(grow->rate_at(start), 1);
  const auto same = make_schedule("cosine { length { share: 0.07 } cycles: 0 }");
  for (int cycle = 0; cycle < 1000; ++cycle) EXPECT_EQ(same->rate_at(cycle * 700), 1) << cycle;
}

TEST(CosineScheduleTest, HasNoEndWithoutLimitOfCycles) {
  EXPECT_TRUE(std::isinf(make_schedule("cosine { length { count: 4 } cycles: 0 }")->end()));
  const auto slow =
      make_schedule("cosine { length { count: 1 } cycles: 0 cycle_multiplier: 1.0000001 }");
  const double rate = slow->rate_at(1e15);
  EXPECT_TRUE(rate >= 0 && rate <= 1) << rate;
}

TEST(CosineScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("cosine { warmup { start_factor: 2 } final_factor: -1 cycles: -1 "
                               "cycle_multiplier: 0.5 cycle_decay: inf }"),
            "s.cosine.length: is missing; set count or share\n"
            "s.cosine.warmup: start_factor is 2; must be 0 to 1\n"
            "s.cosine.warmup.length: is missing; set count or share\n"
            "s.cosine: final_factor is -1; must be 0 to 1\n"
            "s.cosine: cycles is -1; must be at least 0\n"
            "s.cosine: cycle_multiplier is 0.5; must be 1 to 1000\n"
            "s.cosine: cycle_decay is inf; must be above 0 and at most 1");
  EXPECT_EQ(errors_of_schedule("cosine { warmup { length { share: 0.1 } } length { count: 9 } }"),
            "s.cosine.warmup: its length is 1000; must be at most 8, one less than the schedule "
            "with its warm-up");
}

}  // namespace
}  // namespace millrace
