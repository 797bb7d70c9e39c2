#include "optim/schedule/schedule.h"

#include <limits>

#include "base/status_matchers.h"

namespace millrace {
namespace {

// The rate is the position.
class Line : public Schedule {
 public:
  using Schedule::Schedule;
  double rate_at(double position) const override { return position; }
};

TEST(ScheduleTest, UnitChoosesThePosition) {
  Progress progress;
  progress.step = 11;
  progress.examples = 22;
  progress.epoch = 33;
  progress.window = 44;
  progress.skipped_steps = 55;
  progress.skipped_examples = 66;
  EXPECT_EQ(Line(ScheduleConfig::STEPS).rate(progress), 11);
  EXPECT_EQ(Line(ScheduleConfig::EXAMPLES).rate(progress), 22);
  EXPECT_EQ(Line(ScheduleConfig::EPOCHS).rate(progress), 33);
  EXPECT_EQ(Line(ScheduleConfig::WINDOWS).rate(progress), 44);
  EXPECT_EQ(Line(ScheduleConfig::WINDOWS).unit(), ScheduleConfig::WINDOWS);
}

TEST(ScheduleTest, DefaultsAreThoseOfAFunctionOfThePosition) {
  Line line(ScheduleConfig::STEPS);
  EXPECT_EQ(line.end(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(line.monitor(), "");
  line.observe(1);
  EXPECT_EQ(line.state().ByteSizeLong(), 0);
  ScheduleState other;
  other.mutable_reduce_on_plateau()->set_factor(0.5);
  EXPECT_OK(line.load_state(other));
  EXPECT_EQ(line.rate_at(3), 3);
}

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
