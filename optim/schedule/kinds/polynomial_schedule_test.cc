#include "optim/schedule/kinds/polynomial_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(PolynomialScheduleTest, DecaysAfterTheWarmup) {
  const auto schedule = make_schedule(
      "polynomial { warmup { length { count: 2 } start_factor: 0.5 } length { count: 12 } power: 2 "
      "final_factor: 0.2 }",
      10);
  EXPECT_EQ(schedule->rate_at(0), 5);
  EXPECT_EQ(schedule->rate_at(1), 7.5);
  EXPECT_EQ(schedule->rate_at(2), 10);
  EXPECT_DOUBLE_EQ(schedule->rate_at(7), 2 + 8 * 0.25);
  EXPECT_EQ(schedule->rate_at(12), 2);
  EXPECT_EQ(schedule->rate_at(13), 2);
  EXPECT_EQ(schedule->end(), 12);
}

TEST(PolynomialScheduleTest, IsLinearByDefault) {
  const auto schedule = make_schedule("polynomial { length { count: 4 } }", 8);
  for (int t = 0; t <= 4; ++t) EXPECT_EQ(schedule->rate_at(t), 8 - 2 * t);
}

TEST(PolynomialScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("polynomial { length { count: 3 } warmup { length { count: 3 } } "
                               "power: 0 final_factor: 2 }"),
            "s.polynomial.warmup: its length is 3; must be at most 2, one less than the schedule "
            "with its warm-up\n"
            "s.polynomial: power is 0; must be greater than 0 and finite\n"
            "s.polynomial: final_factor is 2; must be 0 to 1");
}

}  // namespace
}  // namespace millrace
