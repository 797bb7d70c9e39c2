// `millrace launch` from outside, with commands that need no other rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class LaunchTest : public ProgramTest {
 protected:
  // The last line on stderr of a launch that is refused.
  std::string refused(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "launch");
    const ProgramResult result = millrace(arguments);
    EXPECT_EQ(result.exit_code, kUsage) << result.err;
    EXPECT_EQ(result.out, "");
    return result.last_error();
  }
};

constexpr char kJob[] = R"(
train {
  train_data { path: "none.parquet" }
  feature { name: "label" kind: LABEL }
  feature { name: "i1" kind: DENSE }
  feature { name: "c1" }
  table { name: "c1" dim: 4 }
  model { name: "deepfm" }
}
)";

TEST_F(LaunchTest, EveryRankRunsTheCommandWithItsFlags) {
  write("job.textproto", kJob);
  const ProgramResult result =
      millrace_ok({"launch", "-n", "2", "--", "config", "check", "job.textproto", "--set",
                   "run.output_dir=a b", "--max_steps=7"});
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  for (const char* rank : {"[0] ", "[1] "}) {
    EXPECT_THAT(lines, Contains(std::string(rank) + "  max_steps: 7"));
    EXPECT_THAT(lines, Contains(std::string(rank) + "  output_dir: \"a b\""));
  }
  for (const std::string& line : lines) {
    EXPECT_TRUE(line.starts_with("[0] ") || line.starts_with("[1] ")) << line;
  }
}

TEST_F(LaunchTest, TheRanksErrorIsTheJobs) {
  const ProgramResult result =
      millrace({"launch", "-n", "2", "--grace_seconds", "20", "--", "config", "check", "none"});
  EXPECT_EQ(result.exit_code, kNoInput);
  EXPECT_THAT(result.err, HasSubstr("[0] millrace: cannot open none"));
  EXPECT_THAT(result.err, HasSubstr("[1] millrace: cannot open none"));
  EXPECT_THAT(result.last_error(), StartsWith("millrace: rank "));
  EXPECT_THAT(result.last_error(), HasSubstr(" exited with code 66: cannot open none"));
}

TEST_F(LaunchTest, WrongUse) {
  EXPECT_THAT(refused({"--", "train", "job"}), HasSubstr("--ranks is required"));
  EXPECT_THAT(refused({"-n", "0", "--", "train", "job"}),
              HasSubstr("-n 0: give the number of ranks"));
  EXPECT_THAT(refused({"-n", "-3", "--", "train", "job"}), HasSubstr("-n -3"));
  EXPECT_THAT(refused({"-n", "two", "--", "train", "job"}), HasSubstr("two"));
  EXPECT_THAT(refused({"-n", "2"}), HasSubstr("there is no command"));
  EXPECT_THAT(refused({"-n", "2", "--"}), HasSubstr("there is no command"));
  EXPECT_THAT(refused({"-n", "2", "--master_port", "65536", "--", "train", "job"}),
              HasSubstr("--master_port 65536"));
  EXPECT_THAT(refused({"-n", "2", "--grace_seconds", "-1", "--", "train", "job"}),
              HasSubstr("--grace_seconds -1"));
  EXPECT_THAT(refused({"-n", "2", "--grace_seconds", "nan", "--", "train", "job"}),
              HasSubstr("--grace_seconds nan"));
  EXPECT_THAT(refused({"-n", "2", "--max_restarts", "-1", "--", "train", "job"}),
              HasSubstr("--max_restarts -1"));
  EXPECT_THAT(refused({"-n", "2", "--", "launch", "-n", "2"}), HasSubstr("cannot launch"));
  EXPECT_THAT(refused({"-n", "2", "train", "job", "--set", "a=1"}),
              AllOf(HasSubstr("there is no flag --set"),
                    HasSubstr("flags of the ranks' command go behind --")));
  EXPECT_THAT(refused({"-n", "2", "--", "export", "job"}), HasSubstr("export runs in one process"));
}

TEST_F(LaunchTest, InsideALauncher) {
  ::setenv("RANK", "1", 1);
  const std::string line = refused({"-n", "2", "--", "train", "job"});
  ::unsetenv("RANK");
  EXPECT_THAT(line, HasSubstr("RANK is set to 1"));
}

}  // namespace
}  // namespace millrace
