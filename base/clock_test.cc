#include "base/clock.h"

#include <gtest/gtest.h>

#include <thread>

namespace millrace {
namespace {

TEST(FakeClockTest, StandsStillUntilTold) {
  FakeClock clock(absl::FromUnixSeconds(100));
  EXPECT_EQ(clock.now(), absl::FromUnixSeconds(100));
  EXPECT_EQ(clock.elapsed(), absl::ZeroDuration());
  EXPECT_EQ(clock.now(), absl::FromUnixSeconds(100));
}

TEST(FakeClockTest, SleepingAndAdvancingMoveBothTimes) {
  FakeClock clock;
  clock.advance(absl::Seconds(3));
  clock.sleep(absl::Milliseconds(500));
  EXPECT_EQ(clock.elapsed(), absl::Milliseconds(3500));
  EXPECT_EQ(clock.now(), absl::UnixEpoch() + absl::Milliseconds(3500));
}

TEST(FakeClockTest, ManyThreadsMayMoveIt) {
  FakeClock clock;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) clock.advance(absl::Nanoseconds(1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clock.elapsed(), absl::Nanoseconds(4000));
}

TEST(RealClockTest, ElapsedNeverGoesBackAndSleepTakesItsTime) {
  Clock& clock = Clock::real();
  const absl::Duration before = clock.elapsed();
  clock.sleep(absl::Milliseconds(2));
  EXPECT_GE(clock.elapsed() - before, absl::Milliseconds(2));
  absl::Duration last = clock.elapsed();
  for (int i = 0; i < 1000; ++i) {
    const absl::Duration now = clock.elapsed();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(clock.now(), absl::FromUnixSeconds(1'600'000'000));
}

}  // namespace
}  // namespace millrace
