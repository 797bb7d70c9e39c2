#include "optim/schedule/kinds/constant_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(ConstantScheduleTest, IsTheSameEverywhere) {
  const auto schedule = make_schedule("constant { factor: 0.25 }", 0.4);
  EXPECT_EQ(schedule->rate_at(0), 0.1);
  EXPECT_EQ(schedule->rate_at(1e9), 0.1);
  EXPECT_EQ(schedule->end(), 0);
  EXPECT_EQ(make_schedule("constant {}", 0.4)->rate_at(7), 0.4);
}

TEST(ConstantScheduleTest, RefusesAFactorOutOfRange) {
  EXPECT_EQ(errors_of_schedule("constant { factor: 1.5 }"),
            "s.constant: factor is 1.5; must be 0 to 1");
  EXPECT_EQ(errors_of_schedule("constant { factor: nan }"),
            "s.constant: factor is nan; must be 0 to 1");
}

}  // namespace
}  // namespace millrace
