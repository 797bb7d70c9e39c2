#include "sinks/mlflow/step_times.h"

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

class StepTimesTest : public testing::Test {
 protected:
  StepTimesTest() { EXPECT_OK(files_.create_directories("out")); }
  int64_t time_of(StepTimes& times, int64_t step, int64_t now_ms) {
    const absl::StatusOr<int64_t> time = times.time_of(step, now_ms);
    EXPECT_OK(time.status());
    return time.value_or(-1);
  }
  MemoryFileSystem files_;
};

TEST_F(StepTimesTest, AStepThatComesAgainHasItsFirstTime) {
  StepTimes first(files_, "out/times");
  EXPECT_OK(first.start(0));
  EXPECT_EQ(time_of(first, 10, 1000), 1000);
  EXPECT_EQ(time_of(first, 10, 1005), 1000) << "an evaluation after the report";
  EXPECT_EQ(time_of(first, 20, 2000), 2000);
  EXPECT_OK(first.sync());
  StepTimes second(files_, "out/times");
  EXPECT_OK(second.start(10));
  EXPECT_EQ(time_of(second, 10, 9000), 1000) << "an evaluation after the checkpoint";
  EXPECT_EQ(time_of(second, 20, 9500), 2000);
  EXPECT_EQ(time_of(second, 30, 9600), 9600);
  EXPECT_OK(second.start(0));
  EXPECT_EQ(time_of(second, 10, 9900), 1000);
  EXPECT_EQ(time_of(second, 30, 9900), 9600);
}

TEST_F(StepTimesTest, DamagedLinesAreSkipped) {
  files_.put("out/times", "10 1000\nnonsense\n20\n30 x\n40 4000\n50 50");
  StepTimes times(files_, "out/times");
  EXPECT_OK(times.start(0));
  EXPECT_EQ(time_of(times, 10, 1), 1000);
  EXPECT_EQ(time_of(times, 20, 2), 2);
  EXPECT_EQ(time_of(times, 40, 3), 4000);
  EXPECT_EQ(time_of(times, 50, 4), 4) << "the last line has no end";
}

TEST_F(StepTimesTest, TheFileIsBounded) {
  std::string text;
  for (size_t step = 1; step <= StepTimes::kMostSteps + 5; ++step) {
    absl::StrAppend(&text, step, " ", step, "\n");
  }
  files_.put("out/times", text);
  StepTimes times(files_, "out/times");
  EXPECT_OK(times.start(0));
  EXPECT_EQ(time_of(times, 5, 100), 100);
  EXPECT_EQ(time_of(times, 6, 100), 6);
}

TEST_F(StepTimesTest, ARemovedFileBeginsAnew) {
  StepTimes times(files_, "out/times");
  EXPECT_OK(times.start(0));
  EXPECT_EQ(time_of(times, 1, 10), 10);
  EXPECT_OK(remove_recursively(files_, "out"));
  EXPECT_OK(times.sync());
  EXPECT_EQ(time_of(times, 2, 20), 20);
  EXPECT_EQ(*read_file(files_, "out/times"), "2 20\n");
}

TEST_F(StepTimesTest, AnErrorOfTheDiskIsReported) {
  StepTimes times(files_, "out/times");
  EXPECT_OK(times.start(0));
  files_.set_capacity(0);
  EXPECT_THAT(times.time_of(1, 1).status(), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace millrace
