#include "optim/schedule/kinds/linear_warmup_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(LinearWarmupScheduleTest, RisesToTheLearningRate) {
  const auto schedule =
      make_schedule("linear_warmup { start_factor: 0.25 length { count: 4 } }", 8);
  EXPECT_EQ(schedule->rate_at(0), 2);
  EXPECT_EQ(schedule->rate_at(1), 3.5);
  EXPECT_EQ(schedule->rate_at(3), 6.5);
  EXPECT_EQ(schedule->rate_at(4), 8);
  EXPECT_EQ(schedule->rate_at(5), 8);
  EXPECT_EQ(schedule->end(), 4);
}

TEST(LinearWarmupScheduleTest, LengthZeroIsNoWarmup) {
  EXPECT_EQ(make_schedule("linear_warmup { length { count: 0 } }")->rate_at(0), 1);
}

TEST(LinearWarmupScheduleTest, EndsInTraining) {
  EXPECT_EQ(errors_of_schedule("linear_warmup { length { count: 10000 } }"), "");
  EXPECT_EQ(errors_of_schedule("linear_warmup { length { count: 10001 } }"),
            "s.linear_warmup.length: the warm-up of 10001 steps does not end in training, which "
            "has 10000; shorten it or raise max_steps");
  EXPECT_EQ(errors_of_schedule("linear_warmup { length { count: 1e9 } } unit: EXAMPLES"), "")
      << "the total is not known";
}

TEST(LinearWarmupScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("linear_warmup { start_factor: -1 }"),
            "s.linear_warmup: start_factor is -1; must be 0 to 1\n"
            "s.linear_warmup.length: is missing; set count or share");
}

}  // namespace
}  // namespace millrace
