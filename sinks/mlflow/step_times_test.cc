#include "sinks/mlflow/step_times.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr char kPath[] = "out/times";

TEST(StepTimesTest, AStepThatComesAgainHasItsFirstTime) {
  MemoryFileSystem files;
  StepTimes first(files, kPath);
  EXPECT_OK(first.load());
  EXPECT_EQ(first.time_of(10, std::nullopt), std::nullopt);
  EXPECT_EQ(first.time_of(10, 1000), 1000);
  EXPECT_EQ(first.time_of(20, 2000), 2000);
  EXPECT_EQ(first.time_of(10, 1005), 1000) << "an evaluation after the report";
  EXPECT_OK(first.save());
  EXPECT_EQ(first.time_of(30, 3000), 3000) << "not saved";
  StepTimes second(files, kPath);
  EXPECT_OK(second.load());
  EXPECT_EQ(second.time_of(10, 9000), 1000);
  EXPECT_EQ(second.time_of(20, std::nullopt), 2000);
  EXPECT_EQ(second.time_of(30, 9600), 9600);
  EXPECT_OK(remove_recursively(files, "out"));
  EXPECT_OK(second.save());
  EXPECT_EQ(*read_file(files, kPath), "30 9600\n") << "in a new file";
}

TEST(StepTimesTest, DamagedLinesAreSkipped) {
  MemoryFileSystem files;
  files.put(kPath, "10 1000\nnonsense\n20\n30 x\n40 4000\n50 50");
  StepTimes times(files, kPath);
  EXPECT_OK(times.load());
  EXPECT_EQ(*read_file(files, kPath), "10 1000\n40 4000\n") << "the last line has no end";
  EXPECT_EQ(times.time_of(10, 1), 1000);
  EXPECT_EQ(times.time_of(20, 2), 2);
}

TEST(StepTimesTest, TheFileIsBounded) {
  std::string text;
  for (size_t step = 1; step <= StepTimes::kMostSteps + 5; ++step) {
    absl::StrAppend(&text, step, " ", step, "\n");
  }
  MemoryFileSystem files;
  files.put(kPath, text);
  StepTimes times(files, kPath);
  EXPECT_OK(times.load());
  EXPECT_EQ(times.time_of(6, 100), 6);
  EXPECT_EQ(times.time_of(5, std::nullopt), std::nullopt);
}

TEST(StepTimesTest, AnErrorOfTheDiskIsReported) {
  MemoryFileSystem files;
  files.set_capacity(0);
  StepTimes times(files, kPath);
  EXPECT_OK(times.load());
  EXPECT_EQ(times.time_of(1, 1), 1);
  EXPECT_THAT(times.save(), StatusIs(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace millrace
