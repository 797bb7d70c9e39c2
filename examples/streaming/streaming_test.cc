// Tests the streaming example: its producer runs at the same time as its job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class StreamingExampleTest : public ProgramTest {
 protected:
  RunningProgram start(std::vector<std::string> arguments) const {
    return RunningProgram(std::move(arguments),
                          {.directory = path("."), .timeout = std::chrono::seconds(55)});
  }
  const std::string folder_ = std::filesystem::absolute("examples/streaming").string();
};

TEST_F(StreamingExampleTest, TrainsUntilTheEndMarker) {
  std::filesystem::create_directories(path("out/streaming-data"));
  RunningProgram producer = start(
      {"/usr/bin/env", "python3", folder_ + "/produce.py", "--files", "6", "--seconds", "0.3"});
  RunningProgram job =
      start({millrace_path(), "train", folder_ + "/streaming.textproto", "--threads", "1", "--set",
             "run.distributed.poll_interval_seconds=0.05"});
  const ProgramResult result = job.finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(producer.finish().exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("completed: 240 steps, 120000 examples"));
  EXPECT_EQ(read_json_lines("out/streaming/windows.jsonl").size(), 6u);
  const std::vector<Json> reports = read_json_lines("out/streaming/metrics/train.jsonl");
  ASSERT_EQ(reports.size(), 6u);
  EXPECT_GT(reports.back()["metrics"]["auc"], 0.7);
}

}  // namespace
}  // namespace millrace
