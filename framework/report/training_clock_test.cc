#include "framework/report/training_clock.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

class TrainingClockTest : public testing::Test {
 protected:
  FakeClock clock_;
  TrainingClock training_{clock_};
};

TEST_F(TrainingClockTest, CountsFromStartToStop) {
  clock_.advance(100 * kSecond);
  EXPECT_EQ(training_.trained(), absl::ZeroDuration());
  training_.start(absl::ZeroDuration());
  clock_.advance(2 * kSecond);
  EXPECT_EQ(training_.trained(), 2 * kSecond);
  training_.stop();
  training_.stop();
  clock_.advance(100 * kSecond);
  EXPECT_EQ(training_.trained(), 2 * kSecond);
}

TEST_F(TrainingClockTest, ATotalIsOverRuns) {
  training_.start(5 * kSecond);
  clock_.advance(2 * kSecond);
  training_.stop();
  EXPECT_EQ(training_.total(), 7 * kSecond);
  EXPECT_EQ(training_.trained(), 2 * kSecond);
  clock_.advance(100 * kSecond);
  training_.start(50 * kSecond);  // as after restoring another state
  clock_.advance(kSecond);
  EXPECT_EQ(training_.total(), 51 * kSecond);
  EXPECT_EQ(training_.trained(), 3 * kSecond);
}

TEST_F(TrainingClockTest, PausesAreLeftOut) {
  training_.start(absl::ZeroDuration());
  clock_.advance(kSecond);
  {
    const TrainingClock::Pause evaluation(training_);
    clock_.advance(100 * kSecond);
    {
      const TrainingClock::Pause inner(training_);
      clock_.advance(100 * kSecond);
    }
    clock_.advance(100 * kSecond);
    EXPECT_EQ(training_.total(), kSecond);
  }
  clock_.advance(kSecond);
  EXPECT_EQ(training_.total(), 2 * kSecond);
}

TEST_F(TrainingClockTest, APauseOfAStoppedClockStartsNothing) {
  {
    const TrainingClock::Pause pause(training_);
    clock_.advance(kSecond);
  }
  clock_.advance(kSecond);
  EXPECT_EQ(training_.trained(), absl::ZeroDuration());
}

}  // namespace
}  // namespace millrace
