#include "optim/schedule/kinds/exponential_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(ExponentialScheduleTest, DecaysContinuously) {
  const auto by_unit = make_schedule("exponential { gamma: 0.5 }", 8);
  EXPECT_EQ(by_unit->rate_at(0), 8);
  EXPECT_EQ(by_unit->rate_at(1), 4);
  EXPECT_EQ(by_unit->rate_at(3), 1);
  const auto by_length = make_schedule("exponential { gamma: 0.25 length { count: 10 } }", 8);
  EXPECT_DOUBLE_EQ(by_length->rate_at(5), 4);
  EXPECT_DOUBLE_EQ(by_length->rate_at(10), 2);
  EXPECT_EQ(by_unit->rate_at(1e6), 0) << "underflow";
}

TEST(ExponentialScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("exponential {}"),
            "s.exponential: gamma is missing; set it above 0 and to at most 1");
  EXPECT_EQ(errors_of_schedule("exponential { gamma: 1.01 length { count: -1 } }"),
            "s.exponential: gamma is 1.01; must be above 0 and at most 1\n"
            "s.exponential.length: count is -1; must be at least 0 and finite");
}

}  // namespace
}  // namespace millrace
