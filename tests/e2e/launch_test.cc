// Tests `millrace launch` with commands that need no other rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class LaunchTest : public ProgramTest {
 protected:
  // Returns the last line on stderr of a refused launch.
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

TEST_F(LaunchTest, RanksMayRunAnotherProgram) {
  const ProgramResult result = millrace_ok(
      {"launch", "-n", "2", "--", "sh", "-c", "echo \"$RANK of $WORLD_SIZE, $0\"", "argument"});
  const std::vector<std::string> lines = absl::StrSplit(result.out, '\n', absl::SkipEmpty());
  EXPECT_THAT(lines, UnorderedElementsAre("[0] 0 of 2, argument", "[1] 1 of 2, argument"));
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
  EXPECT_THAT(refused({"-n", "2", "--min_ranks", "3", "--max_restarts", "1", "--", "train", "job"}),
              HasSubstr("--min_ranks 3: give 1 to the number of ranks, 2"));
  EXPECT_THAT(refused({"-n", "2", "--min_ranks", "1", "--", "train", "job"}),
              HasSubstr("--min_ranks 1: give --max_restarts, too"));
  EXPECT_THAT(refused({"-n", "2", "--min_ranks", "", "--", "train", "job"}),
              HasSubstr("--min_ranks: it is empty"));
  EXPECT_THAT(refused({"-n", "2", "--", "launch", "-n", "2"}), HasSubstr("cannot launch"));
  EXPECT_THAT(refused({"-n", "2", "train", "job", "--set", "a=1"}),
              AllOf(HasSubstr("there is no flag --set"),
                    HasSubstr("flags of the ranks' command go behind --")));
  EXPECT_THAT(refused({"-n", "2", "--", "config", "init", "a.csv"}),
              HasSubstr("config init runs in one process, and 2 would do the same"));
  for (const std::string single : {"export", "data"}) {
    EXPECT_THAT(refused({"-n", "2", "--", single, "job"}),
                HasSubstr(single + " runs in one process, and 2 would do the same"));
  }
}

// Sets variables of the environment, and removes them on destruction.
class Variables {
 public:
  explicit Variables(std::map<std::string, std::string> values) : values_(std::move(values)) {
    for (const auto& [name, value] : values_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : values_) ::unsetenv(name.c_str());
  }

 private:
  const std::map<std::string, std::string> values_;
};

std::map<std::string, std::string> pod(int nodes, int node, const std::string& ranks) {
  return {{"PET_NNODES", absl::StrCat(nodes)},
          {"PET_NODE_RANK", absl::StrCat(node)},
          {"PET_NPROC_PER_NODE", ranks},
          {"PET_MASTER_ADDR", "127.0.0.1"},
          {"PET_MASTER_PORT", "29500"}};
}

TEST_F(LaunchTest, APodStartsItsRanks) {
  write("job.textproto", kJob);
  const Variables variables(pod(3, 2, "2"));
  const std::string out = millrace_ok({"launch", "--", "config", "check", "job.textproto"}).out;
  EXPECT_THAT(out, HasSubstr("[4] "));
  EXPECT_THAT(out, HasSubstr("[5] "));
  EXPECT_THAT(out, Not(HasSubstr("[6] ")));
  EXPECT_THAT(out, Not(HasSubstr("[3] ")));
}

TEST_F(LaunchTest, WrongUseInAPod) {
  {
    const Variables variables(pod(2, 1, "2"));
    EXPECT_THAT(refused({"--max_restarts", "1", "--", "train", "job"}),
                HasSubstr("--max_restarts 1: other nodes have ranks, too (PET_NNODES)"));
    EXPECT_THAT(refused({"--", "plugin"}), HasSubstr("plugin runs in one process"));
    EXPECT_THAT(refused({"-n", "1024", "--", "train", "job"}),
                HasSubstr("make 2048 ranks; a job has at most 1024"));
  }
  {
    const Variables variables(pod(2, 1, "auto"));
    EXPECT_THAT(refused({"--", "train", "job"}), HasSubstr("PET_NPROC_PER_NODE is \"auto\""));
  }
  {
    const Variables variables(pod(2, 2, "2"));
    EXPECT_THAT(refused({"--", "train", "job"}), HasSubstr("PET_NODE_RANK is \"2\""));
  }
}

TEST_F(LaunchTest, InsideALauncher) {
  ::setenv("RANK", "1", 1);
  const std::string line = refused({"-n", "2", "--", "train", "job"});
  ::unsetenv("RANK");
  EXPECT_THAT(line, HasSubstr("RANK is set to 1"));
  {
    const Variables mpi({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}});
    EXPECT_THAT(refused({"-n", "2", "--", "train", "job"}), HasSubstr("PMI_RANK is set to 1"));
  }
  std::map<std::string, std::string> torchrun = pod(2, 1, "2");
  torchrun["RANK"] = "1";
  torchrun["LOCAL_RANK"] = "0";
  const Variables variables(torchrun);
  EXPECT_THAT(refused({"--", "train", "job"}), HasSubstr("RANK is set to 1"));
}

TEST_F(LaunchTest, APodOfAPyTorchJob) {
  write("job.textproto", kJob);
  std::map<std::string, std::string> variables = pod(2, 1, "2");
  variables["RANK"] = "1";
  variables["WORLD_SIZE"] = "4";
  const Variables set(variables);
  EXPECT_THAT(millrace_ok({"launch", "--", "config", "check", "job.textproto"}).out,
              HasSubstr("[3] "));
}

}  // namespace
}  // namespace millrace
