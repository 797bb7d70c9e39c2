#include "optim/schedule/kinds/inverse_square_root_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(InverseSquareRootScheduleTest, PeaksAtTheEndOfTheWarmup) {
  const auto schedule = make_schedule("inverse_square_root { warmup_length { count: 4 } }", 8);
  EXPECT_EQ(schedule->rate_at(0), 0);
  EXPECT_EQ(schedule->rate_at(1), 1);
  EXPECT_EQ(schedule->rate_at(4), 4);
  EXPECT_EQ(schedule->rate_at(16), 2);
}

TEST(InverseSquareRootScheduleTest, BeginsWithTheLearningRateWithoutWarmup) {
  for (const char* text :
       {"inverse_square_root {}", "inverse_square_root { warmup_length { count: 0 } }"}) {
    const auto schedule = make_schedule(text, 8);
    EXPECT_EQ(schedule->rate_at(0), 8);
    EXPECT_EQ(schedule->rate_at(1), 8);
    EXPECT_EQ(schedule->rate_at(4), 4);
  }
}

TEST(InverseSquareRootScheduleTest, RefusesANegativeWarmup) {
  EXPECT_EQ(errors_of_schedule("inverse_square_root { warmup_length { count: -4 } }"),
            "s.inverse_square_root.warmup_length: count is -4; must be at least 0 and finite");
}

TEST(InverseSquareRootScheduleTest, TheWarmupEndsInTraining) {
  EXPECT_EQ(errors_of_schedule("inverse_square_root { warmup_length { count: 10001 } }"),
            "s.inverse_square_root.warmup_length: the warm-up of 10001 steps does not end in "
            "training, which has 10000; shorten it or raise max_steps");
}

}  // namespace
}  // namespace millrace
