#include "sinks/mlflow/step_times.h"

#include <memory>
#include <string>

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
  EXPECT_EQ(first.time_of(10, 1000), 1000);
  EXPECT_EQ(first.time_of(20, 2000), 2000);
  EXPECT_EQ(first.time_of(10, 1005), 1000) << "an evaluation after the report";
  EXPECT_OK(first.save());
  EXPECT_EQ(first.time_of(30, 3000), 3000) << "not saved";
  StepTimes second(files, kPath);
  EXPECT_OK(second.load());
  EXPECT_EQ(second.time_of(10, 9000), 1000);
  EXPECT_EQ(second.time_of(20, 9300), 2000);
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
  EXPECT_EQ(times.time_of(5, 100), 100);
}

// Files whose first append() writes a part of its bytes and fails.
class TornFileSystem : public MemoryFileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override {
    put(path, "10 10");
    return absl::UnavailableError("torn");
  }
};

TEST(StepTimesTest, AnErrorOfTheDiskLosesNoTime) {
  TornFileSystem files;
  StepTimes times(files, kPath);
  EXPECT_OK(times.load());
  EXPECT_EQ(times.time_of(10, 1000), 1000);
  EXPECT_THAT(times.save(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(times.time_of(20, 2000), 2000);
  EXPECT_OK(times.save());
  EXPECT_EQ(*read_file(files, kPath), "10 1000\n20 2000\n");
}

}  // namespace
}  // namespace millrace
