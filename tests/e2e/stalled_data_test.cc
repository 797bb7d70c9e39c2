// Tests that a hanging data source ends every command, with the name of the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/e2e/program_test.h"
#include "tests/e2e/ranks_fixture.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kIo = 74;
constexpr char kJob[] = R"(
train {
  train_data { path: "data.csv" batch_size: 20 }
  eval_data { data { path: "data.csv" batch_size: 20 } }
  feature { name: "label" kind: LABEL }
  feature { name: "x" kind: DENSE }
  model { name: "mlp" [millrace.mlp] { hidden: [4] } }
}
run {
  output_dir: "out"
  threads: 1
  distributed { collective_timeout_seconds: 20 }
}
)";

class StalledDataTest : public ProgramTest {
 protected:
  void SetUp() override {
    write("job.textproto", kJob);
    write("short.textproto",
          absl::StrReplaceAll(kJob, {{"distributed {", "distributed { data_timeout_seconds: 3"}}));
    std::string rows = "label,x\n";
    for (int row = 0; row < 200; ++row) absl::StrAppend(&rows, row % 2, ",", row % 7, "\n");
    write("data.csv", rows);
    millrace_ok({"train", "job.textproto"});
  }

  // Returns the path of the data, which rank `rank` cannot read.
  std::string stalled(int rank) const {
    return absl::StrCat("stalled://rank", rank, path("data.csv"));
  }
  std::string waits_for(int rank) const {
    return absl::StrCat(
        "no batch came for 3s (run.distributed.data_timeout_seconds): the source "
        "hangs or is slower than that; it waits for ",
        stalled(rank));
  }
  // Runs the program with access to stalled files.
  ProgramResult run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     std::filesystem::absolute("tests/e2e/stalled_job").string());
    return run_program(std::move(arguments), {.directory = path("")});
  }
  void expect_ended(const ProgramResult& result) const {
    EXPECT_EQ(result.exit_code, kIo) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr(waits_for(0)));
    EXPECT_EQ(read_json("s.json")["outcome"], "failed");
    EXPECT_THAT(read_json("s.json")["error"].get<std::string>(), HasSubstr(waits_for(0)));
  }
};

TEST_F(StalledDataTest, EndsTraining) {
  expect_ended(run({"train", "short.textproto", "--output_dir", "b", "--train_data", stalled(0),
                    "--summary", "s.json"}));
}

// The file is read before the first step.
TEST_F(StalledDataTest, EndsTheSearchForEmptySets) {
  expect_ended(
      run({"train", "short.textproto", "--output_dir", "b", "--eval_data", stalled(0), "--set",
           "train.eval_data[0].data.split={ from: 0 to: 0.5 }", "--summary", "s.json"}));
  EXPECT_FALSE(exists("b"));
}

TEST_F(StalledDataTest, EndsAnEvaluation) {
  expect_ended(run({"evaluate", "short.textproto", "--checkpoint", "out", "--eval_data", stalled(0),
                    "--summary", "s.json"}));
}

TEST_F(StalledDataTest, EndsAPredictionWithoutAFile) {
  write("p.csv", "");
  const std::vector<std::string> before = files_below(".");
  expect_ended(run({"predict", "short.textproto", "--checkpoint", "out", "--data", stalled(0),
                    "--output", "p.csv", "--summary", "s.json"}));
  std::filesystem::remove(path("s.json"));
  EXPECT_EQ(files_below("."), before);
  EXPECT_EQ(read("p.csv"), "");
}

// The rank with the unreadable file reports the failure, and the other rank names the failed rank.
TEST_F(StalledDataTest, EndsAllRanks) {
  const std::vector<std::vector<std::string>> commands = {
      {"train", "short.textproto", "--output_dir", "b", "--train_data"},
      {"evaluate", "short.textproto", "--checkpoint", "out", "--eval_data"}};
  for (const int rank : {0, 1}) {
    for (const std::vector<std::string>& command : commands) {
      std::vector<std::string> arguments = {"launch", "-n", "2", "--"};
      arguments.insert(arguments.end(), command.begin(), command.end());
      arguments.push_back(stalled(rank));
      SCOPED_TRACE(absl::StrCat(command[0], " of rank ", rank));
      const ProgramResult result = run(arguments);
      EXPECT_EQ(result.exit_code, kIo) << result.err;
      const int other = 1 - rank;
      EXPECT_THAT(result.err,
                  AllOf(ContainsRegex(absl::StrCat("\\[", rank, "\\] millrace: .*no batch came")),
                        ContainsRegex(absl::StrCat("\\[", other, "\\] millrace: .*rank ", rank,
                                                   " failed: .*waits for stalled://rank", rank)),
                        HasSubstr(absl::StrCat("rank ", other, " exited with code ", kPeer))));
    }
  }
}

// The rank with the unreadable file notices the end of the time, and the other rank ends, too.
TEST_F(StalledDataTest, MaxSecondsEndsTheWaitOfAnyRank) {
  for (const char* name : {"c.csv", "d.csv"}) write(name, read("data.csv"));
  for (const int rank : {0, 1}) {
    SCOPED_TRACE(absl::StrCat("rank ", rank));
    // Each rank reads two files.
    const std::string data = rank == 0 ? absl::StrCat("data.csv,", stalled(0), ",c.csv,d.csv")
                                       : absl::StrCat("data.csv,c.csv,d.csv,", stalled(1));
    const ProgramResult result =
        run({"launch", "-n", "2", "--", "train", "job.textproto", "--output_dir", "b",
             "--train_data", data, "--set", "train.max_seconds=3"});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const nlohmann::json summary = read_json("b/summary.json");
    EXPECT_EQ(summary["outcome"], "completed");
    // A slow machine may make no step in this time.
    if (summary["steps"] > 0) {
      EXPECT_NE(newest_checkpoint("b"), "");
    }
    std::filesystem::remove_all(path("b"));
  }
}

// No exchange reaches a rank waiting for data. The rank learns of the signal from the supervisor.
TEST_F(StalledDataTest, ASignalToAnyRankStopsAll) {
  for (const char* name : {"c.csv", "d.csv"}) write(name, read("data.csv"));
  // Rank 0 reads the first file, in ten steps, and then waits for the second.
  const std::string data = absl::StrCat("data.csv,", stalled(0), ",c.csv,d.csv");
  for (const int stopped : {0, 1}) {
    SCOPED_TRACE(absl::StrCat("rank ", stopped));
    RunningProgram program({std::filesystem::absolute("tests/e2e/stalled_job").string(), "launch",
                            "-n", "2", "--", "train", "job.textproto", "--output_dir", "b",
                            "--train_data", data, "--set", "run.report.when={every_steps: 1}"},
                           {.directory = path("")});
    ASSERT_TRUE(program.wait_for("[0] step 9 "));
    send_to_rank(program.process(), stopped, SIGTERM);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, kRunAgain) << result.err;
    EXPECT_THAT(result.out, HasSubstr("[0] stopped (signal SIGTERM"));
    EXPECT_THAT(result.err, Not(HasSubstr("exited with code 76")));
    EXPECT_EQ(read_json("b/summary.json")["stop_reason"], "signal SIGTERM");
    EXPECT_NE(newest_checkpoint("b"), "");
    std::filesystem::remove_all(path("b"));
  }
}

}  // namespace
}  // namespace millrace
