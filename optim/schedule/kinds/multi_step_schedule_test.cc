#include "optim/schedule/kinds/multi_step_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(MultiStepScheduleTest, DecaysAtEachMilestone) {
  const auto schedule = make_schedule(
      "unit: EPOCHS multi_step { gamma: 0.5 milestone { count: 3 } milestone { share: 0.7 } "
      "milestone { count: 7 } }",
      8);
  EXPECT_EQ(schedule->rate_at(0), 8);
  EXPECT_EQ(schedule->rate_at(2), 8);
  EXPECT_EQ(schedule->rate_at(3), 4);
  EXPECT_EQ(schedule->rate_at(6), 4);
  EXPECT_EQ(schedule->rate_at(7), 1) << "0.7 × 10 epochs is 7 in spite of rounding";
  EXPECT_EQ(schedule->rate_at(8), 1);
  EXPECT_EQ(schedule->end(), 7);
}

TEST(MultiStepScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("multi_step { gamma: 2 }"),
            "s.multi_step: gamma is 2; must be above 0 and at most 1\n"
            "s.multi_step: milestone is missing; set at least one");
  EXPECT_EQ(errors_of_schedule("multi_step { milestone { count: 5 } milestone {} "
                               "milestone { count: 4 } }"),
            "s.multi_step.milestone[1]: is missing; set count or share\n"
            "s.multi_step.milestone[2]: is at 4, before 5, the milestone before it; milestones "
            "must ascend");
}

}  // namespace
}  // namespace millrace
