#include "framework/report/resource_use.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

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

TEST(ProcessFiguresTest, MemoryThatIsTouchedIsResident) {
  const ProcessFigures before = read_process_figures();
  EXPECT_GT(before.resident_bytes, 0);
  std::vector<char> memory(64 << 20, 1);
  const ProcessFigures after = read_process_figures();
  EXPECT_GE(after.resident_bytes - before.resident_bytes, 48 << 20) << memory.back();
  EXPECT_GT(after.major_faults + after.minor_faults, before.major_faults + before.minor_faults);
}

TEST(ProcessFiguresTest, WorkTakesCpuTime) {
  const ProcessFigures before = read_process_figures();
  volatile double sum = 0;
  while (read_process_figures().cpu - before.cpu < absl::Milliseconds(20)) {
    for (int i = 0; i < 100000; ++i) sum = sum + i;
  }
}

TEST(ProcessFiguresTest, BytesReadCountWhatIsRead) {
  const ProcessFigures before = read_process_figures();
  if (before.bytes_read == 0) GTEST_SKIP() << "the kernel has no /proc/self/io";
  std::vector<char> bytes(1 << 20);
  std::ifstream("/dev/zero").read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_GE(read_process_figures().bytes_read - before.bytes_read, 1 << 20);
}

}  // namespace
}  // namespace millrace
