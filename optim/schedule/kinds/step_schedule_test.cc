#include "optim/schedule/kinds/step_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(StepScheduleTest, DecaysAtMultiplesOfTheLength) {
  const auto schedule = make_schedule("step { length { count: 3 } gamma: 0.5 }", 8);
  EXPECT_EQ(schedule->rate_at(0), 8);
  EXPECT_EQ(schedule->rate_at(2), 8);
  EXPECT_EQ(schedule->rate_at(3), 4);
  EXPECT_EQ(schedule->rate_at(5), 4);
  EXPECT_EQ(schedule->rate_at(6), 2);
}

TEST(StepScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("step { length { count: 0 } gamma: 0 }"),
            "s.step: gamma is 0; must be above 0 and at most 1\n"
            "s.step.length: count is 0; must be at least 1");
}

}  // namespace
}  // namespace millrace
