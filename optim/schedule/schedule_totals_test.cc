#include "optim/schedule/schedule_totals.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(ScheduleTotalsTest, UnitChoosesTheTotal) {
  const ScheduleTotals totals{.steps = 1, .examples = 2, .epochs = 3, .windows = 4};
  EXPECT_EQ(totals.of(ScheduleConfig::STEPS), 1);
  EXPECT_EQ(totals.of(ScheduleConfig::EXAMPLES), 2);
  EXPECT_EQ(totals.of(ScheduleConfig::EPOCHS), 3);
  EXPECT_EQ(totals.of(ScheduleConfig::WINDOWS), 4);
  EXPECT_FALSE(ScheduleTotals().of(ScheduleConfig::STEPS).has_value());
}

TEST(ScheduleTotalsTest, AJobCountsStepsAndExamplesAlone) {
  ScheduleTotals totals;
  totals.epochs = 3;
  totals.counted_at_start = true;
  EXPECT_TRUE(totals.will_know(ScheduleConfig::STEPS));
  EXPECT_TRUE(totals.will_know(ScheduleConfig::EXAMPLES));
  EXPECT_TRUE(totals.will_know(ScheduleConfig::EPOCHS));
  EXPECT_FALSE(totals.will_know(ScheduleConfig::WINDOWS));
  EXPECT_FALSE(ScheduleTotals().will_know(ScheduleConfig::STEPS));
}

}  // namespace
}  // namespace millrace
