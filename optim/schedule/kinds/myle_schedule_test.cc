#include "optim/schedule/kinds/myle_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(MyleScheduleTest, ReachesTheLearningRate) {
  const auto schedule =
      make_schedule("myle { warmup { length { count: 4 } start_factor: 0.5 } }", 8);
  EXPECT_EQ(schedule->rate_at(0), 4);
  EXPECT_EQ(schedule->rate_at(2), 6);
  EXPECT_EQ(schedule->rate_at(4), 8);
  EXPECT_EQ(schedule->rate_at(16), 4);
}

TEST(MyleScheduleTest, NeedsAWarmup) {
  EXPECT_EQ(errors_of_schedule("myle {}"), "s.myle.warmup.length: is missing; set count or share");
  EXPECT_EQ(errors_of_schedule("myle { warmup { length { count: 0 } } }"),
            "s.myle.warmup.length: count is 0; must be at least 1");
}

}  // namespace
}  // namespace millrace
