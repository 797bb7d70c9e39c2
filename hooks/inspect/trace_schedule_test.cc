#include "hooks/inspect/trace_schedule.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

// Returns a letter for each of the first `steps` steps: "." off, "w" warm-up, and the number of the
// cycle for an active step.
std::string letters(const TraceSchedule& schedule, int64_t steps) {
  std::string letters;
  for (int64_t step = 1; step <= steps; ++step) {
    const TracePoint point = schedule.at(step);
    switch (point.phase) {
      case TracePhase::kOff: letters += '.'; break;
      case TracePhase::kWarmUp: letters += 'w'; break;
      case TracePhase::kActive: letters += static_cast<char>('0' + point.cycle); break;
    }
  }
  return letters;
}

TEST(TraceScheduleTest, DefaultsTraceThreeStepsOnce) { EXPECT_EQ(letters({}, 12), ".w000......."); }

TEST(TraceScheduleTest, CyclesRepeat) {
  EXPECT_EQ(letters({.skip_first = 2, .wait = 2, .warmup = 1, .active = 2, .repeat = 2}, 16),
            "....w00..w11....");
  EXPECT_EQ(letters({.wait = 1, .warmup = 0, .active = 1, .repeat = 0}, 8), ".0.1.2.3");
}

TEST(TraceScheduleTest, CyclesMayFollowAtOnce) {
  EXPECT_EQ(letters({.wait = 0, .warmup = 0, .active = 2, .repeat = 3}, 8), "001122..");
  EXPECT_EQ(letters({.wait = 0, .warmup = 1, .active = 1, .repeat = 0}, 6), "w0w1w2");
}

TEST(TraceScheduleTest, LargeNumbersDoNotOverflow) {
  const int64_t most = TraceSchedule::kMostSteps;
  const TraceSchedule schedule = {
      .skip_first = most, .wait = most, .warmup = most, .active = most, .repeat = most};
  EXPECT_EQ(schedule.at(1), TracePoint());
  EXPECT_EQ(schedule.at(3 * most), (TracePoint{TracePhase::kWarmUp, 0}));
}

}  // namespace
}  // namespace millrace
