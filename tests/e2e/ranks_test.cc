// Tests `millrace train` with several ranks: their files, stops and error messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/net/socket.h"
#include "base/status_matchers.h"
#include "tests/e2e/ranks_fixture.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::vector<std::string> kForever = {"--set", "train.max_epochs=0", "--set",
                                           "run.report.when={every_steps: 200}"};

TEST_F(RanksTest, OneSetOfOutputs) {
  const ProgramResult result = launch(2, {}).finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[0] completed: 20 steps, 2000 examples"));
  EXPECT_THAT(result.out, Not(HasSubstr("[1]")));
  EXPECT_THAT(result.err, HasSubstr("[0] step 20 "));
  EXPECT_THAT(result.err, Not(HasSubstr("[1] step 20 ")));
  const nlohmann::json summary = read_json("out/summary.json");
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["world_size"], 2);
  EXPECT_EQ(summary["steps"], 20);
  EXPECT_EQ(summary["examples"], 2000);
  EXPECT_TRUE(summary["eval"]["auc"].is_number());
  EXPECT_EQ(summary["checkpoint"], newest_checkpoint("out"));
  EXPECT_TRUE(exists("out/config.textproto"));
  EXPECT_THAT(files_below("out/logs"), UnorderedElementsAre("rank-0.log", "rank-1.log"));
  EXPECT_EQ(read_json_lines("out/metrics/train.jsonl").size(), 2);
  EXPECT_EQ(read_json_lines("out/metrics/eval.jsonl").size(), 1);
}

TEST_F(RanksTest, EqualRunsAreEqual) {
  ASSERT_EQ(launch(2, {"--output_dir", "a"}).finish().exit_code, 0);
  ASSERT_EQ(launch(2, {"--output_dir", "b"}).finish().exit_code, 0);
  EXPECT_EQ(content_of("a"), content_of("b"));
}

// Returns the command with the variables that Kubeflow Trainer sets in a pod.
std::vector<std::string> in_pod(int nodes, int node, int ranks, int port,
                                const std::vector<std::string>& command) {
  std::vector<std::string> arguments = {"/usr/bin/env",
                                        absl::StrCat("PET_NNODES=", nodes),
                                        absl::StrCat("PET_NODE_RANK=", node),
                                        absl::StrCat("PET_NPROC_PER_NODE=", ranks),
                                        "PET_MASTER_ADDR=localhost",
                                        absl::StrCat("PET_MASTER_PORT=", port)};
  arguments.insert(arguments.end(), command.begin(), command.end());
  return arguments;
}

TEST_F(RanksTest, TwoPodsOfTwoRanksAreFourRanks) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  const std::vector<std::string> command = {millrace_path(),
                                            "launch",
                                            "--",
                                            "train",
                                            "job.textproto",
                                            "--set",
                                            "run.distributed.interface=lo"};
  RunningProgram second(in_pod(2, 1, 2, port.number, command), {.directory = path("")});
  const ProgramResult first =
      run_program(in_pod(2, 0, 2, port.number, command), {.directory = path("")});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second.finish().exit_code, 0);
  EXPECT_EQ(read_json("out/summary.json")["world_size"], 4);
  ASSERT_EQ(launch(4, {"--output_dir", "launched"}).finish().exit_code, 0);
  EXPECT_EQ(content_of("out"), content_of("launched"));
}

TEST_F(RanksTest, TwoPodsOfOneProcessAreTwoRanks) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  const std::vector<std::string> command = {millrace_path(), "train", "job.textproto", "--set",
                                            "run.distributed.interface=lo"};
  RunningProgram second(in_pod(2, 1, 1, port.number, command), {.directory = path("")});
  const ProgramResult first =
      run_program(in_pod(2, 0, 1, port.number, command), {.directory = path("")});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(second.finish().exit_code, 0);
  EXPECT_EQ(read_json("out/summary.json")["world_size"], 2);
}

TEST_F(RanksTest, PodsThatMeetAtTheirOwnLoopbackAreRefused) {
  const ProgramResult result = run_program(
      in_pod(2, 1, 1, 29500, {millrace_path(), "train", "job.textproto"}), {.directory = path("")});
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(
      result.last_error(),
      HasSubstr("MASTER_ADDR is \"localhost\", which ranks of other machines cannot reach"));
}

TEST_F(RanksTest, OneProcessOfAPodWithTwoRanksIsRefused) {
  const ProgramResult result = run_program(
      in_pod(2, 0, 2, 29500, {millrace_path(), "train", "job.textproto"}), {.directory = path("")});
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(result.last_error(),
              AllOf(HasSubstr("PET_NPROC_PER_NODE is \"2\""), HasSubstr("`millrace launch --")));
}

TEST_F(RanksTest, EvaluationOverRanksIsThatOfOne) {
  millrace_ok({"train", "job.textproto"});
  const ProgramResult one = millrace_ok({"evaluate", "job.textproto", "--checkpoint", "out"});
  const ProgramResult two = millrace_ok({"launch", "-n", "2", "--", "evaluate", "job.textproto",
                                         "--checkpoint", "out", "--summary", "evaluated.json"});
  EXPECT_THAT(one.out, HasSubstr("examples 500"));
  EXPECT_EQ(two.out, "[0] " + one.out);
  EXPECT_EQ(read_json("evaluated.json")["outcome"], "completed");
  EXPECT_EQ(read_json("evaluated.json")["world_size"], 2);
  const ProgramResult without_config =
      millrace_ok({"launch", "-n", "2", "--", "evaluate", "--checkpoint", "out", "--threads", "1"});
  EXPECT_EQ(without_config.out, two.out) << "the configuration is that of the checkpoint";
}

TEST_F(RanksTest, AllRanksLoadTheSameWeights) {
  millrace_ok({"train", "job.textproto"});
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  RunningProgram first = rank(0, 2, port.number, {"--checkpoint", "out"}, "evaluate");
  RunningProgram second = rank(1, 2, port.number, {"--checkpoint", "nowhere"}, "evaluate");
  for (RunningProgram* program : {&second, &first}) {
    const ProgramResult result = program->finish();
    EXPECT_EQ(result.exit_code, kUsage) << result.err;
    EXPECT_THAT(result.last_error(),
                AllOf(HasSubstr("--checkpoint"), HasSubstr("rank 1 is to load nowhere")));
  }
  const ProgramResult nowhere =
      millrace({"launch", "-n", "2", "--", "evaluate", "job.textproto", "--checkpoint", "nowhere"});
  EXPECT_EQ(nowhere.exit_code, kNoInput) << nowhere.err;
}

TEST_F(RanksTest, DataIsMadeOnce) {
  const ProgramResult result =
      launch(2, {"--set", "train.generated_data={directory: 'made' rows: 1000 eval_rows: 100}",
                 "--set", "train.train_data.path=[]", "--set", "train.eval_data[0].data.path=[]"})
          .finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("[0] generated 1000 examples in made"));
  EXPECT_THAT(result.err, Not(HasSubstr("[1] generated")));
  EXPECT_THAT(result.out, HasSubstr("1000 examples"));
}

TEST_F(RanksTest, ASignalToAnyRankStopsAll) {
  for (const int stopped : {0, 1}) {
    RunningProgram program = launch(2, kForever);
    ASSERT_TRUE(program.wait_for("[0] step 200 "));
    send_to_rank(program.process(), stopped, SIGTERM);
    const ProgramResult result = program.finish();
    EXPECT_EQ(result.exit_code, kRunAgain) << result.err;
    EXPECT_THAT(result.out, HasSubstr("[0] stopped (signal SIGTERM"));
    EXPECT_EQ(read_json("out/summary.json")["outcome"], "stopped");
    EXPECT_NE(newest_checkpoint("out"), "");
    std::filesystem::remove_all(path("out"));
  }
}

TEST_F(RanksTest, ARunThatWasStoppedOrKilledGoesOn) {
  ASSERT_EQ(launch(2, {"--output_dir", "whole"}).finish().exit_code, 0);
  const std::vector<std::string> flags = {"--set", "run.report.when={every_steps: 1}", "--set",
                                          "run.checkpoint.when={every_steps: 2}"};
  for (const int signal : {SIGTERM, SIGKILL}) {
    RunningProgram program = launch(2, flags);
    ASSERT_TRUE(program.wait_for("[0] step 5 "));
    send_to_rank(program.process(), 1, signal);
    const ProgramResult stopped = program.finish();
    EXPECT_NE(stopped.exit_code, 0);
    const ProgramResult again = launch(2, flags).finish();
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("resuming from out/checkpoints/step-"));
    EXPECT_EQ(content_of("out"), content_of("whole"));
    const ProgramResult finished = launch(2, flags).finish();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("[0] finished before (completed) after 20 steps"));
    std::filesystem::remove_all(path("out"));
  }
}

TEST_F(RanksTest, ASignalToTheLauncherStopsAll) {
  RunningProgram program = launch(2, kForever);
  ASSERT_TRUE(program.wait_for("[0] step 200 "));
  program.send(SIGINT);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, kRunAgain) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[0] stopped (signal SIGINT"));
}

TEST_F(RanksTest, TheLauncherTakesItsRanksAlong) {
  RunningProgram program = launch(2, kForever);
  ASSERT_TRUE(program.wait_for("[0] step 200 "));
  const std::optional<pid_t> ranks[] = {process_of_rank(program.process(), 0),
                                        process_of_rank(program.process(), 1)};
  ASSERT_TRUE(ranks[0].has_value() && ranks[1].has_value());
  ASSERT_TRUE(is_running(*ranks[0]) && is_running(*ranks[1]));
  program.send(SIGKILL);
  EXPECT_EQ(program.finish().exit_code, -SIGKILL);
  EXPECT_TRUE(ends_soon(*ranks[0]));
  EXPECT_TRUE(ends_soon(*ranks[1]));
}

TEST_F(RanksTest, AKilledRankIsNamed) {
  RunningProgram program = launch(2, kForever);
  ASSERT_TRUE(program.wait_for("[0] step 200 "));
  send_to_rank(program.process(), 1, SIGKILL);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, 128 + SIGKILL);  // the cause; rank 0 leaves with 76
  EXPECT_THAT(result.err, ContainsRegex("\\[0\\] millrace: .*rank 1 failed in "));
  EXPECT_THAT(result.err, Not(HasSubstr("did not leave")));
  EXPECT_THAT(result.last_error(), HasSubstr("rank 1 was killed by signal 9"));
  EXPECT_EQ(read_json("out/summary.json")["outcome"], "failed");
  EXPECT_THAT(std::string(read_json("out/summary.json")["error"]), HasSubstr("rank 1"));
}

TEST_F(RanksTest, BadDataOfOneRankEndsAll) {
  write("broken.parquet", "this is no parquet file");
  const ProgramResult result =
      launch(2, {"--set", "train.train_data.path=broken.parquet"}).finish();
  EXPECT_EQ(result.exit_code, kBadData) << result.err;
  EXPECT_THAT(result.last_error(), HasSubstr("broken.parquet"));
  EXPECT_FALSE(exists("out"));
}

class TableRanksTest : public RanksTest {
 protected:
  TableRanksTest() {
    const std::string model = "  model { name: \"mlp\" [millrace.mlp] { hidden: [8] } }";
    const std::string job = read("job.textproto");
    write("job.textproto",
          absl::StrReplaceAll(job, {{model,
                                     "  feature { name: 'c{1..3}' }\n"
                                     "  table { name: 'c{1..3}' dim: 4\n"
                                     "          admission { count { min_count: 2 } } }\n"
                                     "  sparse_optimizer { rowwise_adagrad {} }\n"
                                     "  model { name: 'deepfm' }"}}));
    EXPECT_NE(read("job.textproto"), job);
  }
  // Returns the tables of a checkpoint as `checkpoint show` reports them, without their files.
  nlohmann::json tables_of(const std::string& checkpoint) const {
    const std::string shown = millrace_ok({"checkpoint", "show", checkpoint, "--json"}).out;
    return nlohmann::json::parse(shown)["tables"];
  }
};

TEST_F(TableRanksTest, TrainsSavesAndEvaluates) {
  const ProgramResult result = launch(2, {}).finish();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[0] completed: 20 steps, 2000 examples"));
  const std::string checkpoint = newest_checkpoint("out");
  millrace_ok({"checkpoint", "verify", checkpoint});
  EXPECT_THAT(files_below(checkpoint),
              AllOf(testing::Contains("table-c1-00000-of-00002.safetensors"),
                    testing::Contains("table-c1-00001-of-00002.safetensors")));
  const nlohmann::json summary = read_json("out/summary.json");
  int64_t rows = 0;
  for (const auto& table : tables_of(checkpoint)) rows += int64_t{table["rows"]};
  EXPECT_GT(rows, 100);
  double waiting = 0;
  const nlohmann::json ranks = read_json_lines("out/metrics/train.jsonl").back()["ranks"];
  for (const auto& [reason, share] : ranks["waiting"].items()) {
    EXPECT_GE(double{share}, 0) << reason;
    waiting += double{share};
  }
  EXPECT_GT(waiting, 0);
  EXPECT_LT(waiting, 1);
  for (const char* exchange : {"ids", "rows", "sums"}) {
    EXPECT_GT(double{ranks["bytes_per_step"][exchange]}, 100) << exchange;
  }
  EXPECT_GE(double{ranks["owner_imbalance"]}, 1);
  const ProgramResult one =
      millrace_ok({"evaluate", "job.textproto", "--checkpoint", "out", "--summary", "1.json"});
  millrace_ok({"launch", "-n", "3", "--", "evaluate", "job.textproto", "--checkpoint", "out",
               "--summary", "3.json"});
  for (const char* metric : {"auc", "logloss"}) {
    const double of_one = read_json("1.json")["eval"][metric];
    EXPECT_NEAR(double{read_json("3.json")["eval"][metric]}, of_one, 1e-5) << metric;
    EXPECT_NEAR(double{summary["eval"][metric]}, of_one, 1e-5) << metric;
  }
  millrace_ok({"predict", "job.textproto", "--checkpoint", "out", "--output", "scores.parquet"});
  millrace_ok({"checkpoint", "export", checkpoint, "--output", "exported"});
}

TEST_F(TableRanksTest, PredictsInAFileForEachRank) {
  millrace_ok({"train", "job.textproto"});
  const std::vector<std::string> predict = {"predict", "job.textproto", "--checkpoint", "out",
                                            "--output"};
  const auto command = [&](std::vector<std::string> before, const std::string& output) {
    before.insert(before.end(), predict.begin(), predict.end());
    before.push_back(output);
    return before;
  };
  millrace_ok(command({}, "one.csv"));
  const ProgramResult result = millrace_ok(command({"launch", "-n", "3", "--"}, "three.csv"));
  EXPECT_THAT(result.out, StartsWith("[0] predictions: 500 examples in three-00000-of-00003.csv to "
                                     "three-00002-of-00003.csv\n[0] eval: no row: c3 "));
  const std::string one = read("one.csv");
  const std::string header = one.substr(0, one.find('\n') + 1);
  std::string joined = header;
  for (int rank = 0; rank < 3; ++rank) {
    const std::string part = read(absl::StrCat("three-0000", rank, "-of-00003.csv"));
    ASSERT_EQ(part.substr(0, header.size()), header);
    joined += part.substr(header.size());
  }
  // Batches end at other rows, which changes the last bits of predictions.
  const std::vector<std::string> lines = absl::StrSplit(one, '\n');
  const std::vector<std::string> others = absl::StrSplit(joined, '\n');
  ASSERT_EQ(others.size(), lines.size());
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const std::vector<std::string> cells = absl::StrSplit(lines[i], ',');
    const std::vector<std::string> other = absl::StrSplit(others[i], ',');
    EXPECT_EQ(other[0], cells[0]);
    EXPECT_EQ(other[2], cells[2]);
    EXPECT_NEAR(std::stod(other[1]), std::stod(cells[1]), 1e-6);
  }
  EXPECT_FALSE(exists("three.csv"));
  // One rank cannot write, so no file is renamed.
  std::filesystem::create_directory(path("four-00001-of-00002.csv"));
  const ProgramResult refused = millrace(command({"launch", "-n", "2", "--"}, "four.csv"));
  EXPECT_EQ(refused.exit_code, kCannotWrite) << refused.err;
  EXPECT_FALSE(exists("four-00000-of-00002.csv"));
}

TEST_F(TableRanksTest, AKilledRunGoesOnAsIfNothingHadBeen) {
  const std::vector<std::string> flags = {
      "--set", "run.report.when={every_steps: 1}", "--set",
      "run.checkpoint={when: {every_steps: 2} max_deltas: 3 asynchronous: true}"};
  std::vector<std::string> whole_flags = flags;
  whole_flags.insert(whole_flags.end(), {"--output_dir", "whole"});
  ASSERT_EQ(launch(2, whole_flags).finish().exit_code, 0);
  for (const int killed : {0, 1}) {
    RunningProgram program = launch(2, flags);
    ASSERT_TRUE(program.wait_for("[0] step 7 "));
    send_to_rank(program.process(), killed, SIGKILL);
    EXPECT_NE(program.finish().exit_code, 0);
    const ProgramResult again = launch(2, flags).finish();
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_THAT(again.err, HasSubstr("resuming from out/checkpoints/step-"));
    EXPECT_EQ(content_of("out"), content_of("whole"));
    std::filesystem::remove_all(path("out"));
  }
}

// Only one rank reads the damage.
TEST_F(TableRanksTest, ADamagedCheckpointIsPassedOverByAllRanks) {
  ASSERT_EQ(launch(2, {"--set", "run.checkpoint.when={every_steps: 10}"}).finish().exit_code, 0);
  const std::string newest = newest_checkpoint("out");
  const std::string file = absl::StrCat(newest, "/table-c1-00001-of-00002.safetensors");
  std::string content = read(file);
  content.back() ^= 1;
  write(file, content);
  const ProgramResult one = millrace_ok({"evaluate", "job.textproto", "--checkpoint", "out"});
  EXPECT_THAT(one.err, HasSubstr("passed over: "));
  const ProgramResult two =
      millrace_ok({"launch", "-n", "2", "--", "evaluate", "job.textproto", "--checkpoint", "out"});
  EXPECT_THAT(two.err, HasSubstr("passed over: "));
  EXPECT_THAT(two.err, HasSubstr("step-00000010: step 10"));
  const ProgramResult damaged =
      millrace({"launch", "-n", "2", "--", "evaluate", "job.textproto", "--checkpoint", newest});
  EXPECT_EQ(damaged.exit_code, kBadData) << damaged.err;
}

TEST_F(TableRanksTest, AnotherNumberOfRanksGoesOn) {
  const auto train_to = [&](int ranks, int64_t steps) {
    const ProgramResult result =
        launch(ranks, {"--max_steps", absl::StrCat(steps), "--set", "train.max_epochs=2"}).finish();
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(absl::StrCat(steps, " steps")));
  };
  train_to(2, 4);
  train_to(3, 8);
  train_to(1, 12);
  train_to(2, 16);
  millrace_ok({"checkpoint", "verify", newest_checkpoint("out")});
}

TEST_F(RanksTest, AnotherConfigurationIsRefused) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  const std::string short_timeout = "run.distributed.rendezvous_timeout_seconds=6";
  RunningProgram first = rank(0, 2, port.number, {"--seed", "5", "--set", short_timeout});
  RunningProgram second = rank(1, 2, port.number, {"--seed", "6", "--set", short_timeout});
  const ProgramResult refused = second.finish();
  EXPECT_EQ(refused.exit_code, kUsage);
  EXPECT_THAT(refused.last_error(), AllOf(HasSubstr("seed: 6"), HasSubstr("seed: 5")));
  const ProgramResult other = first.finish();
  EXPECT_NE(other.exit_code, 0);
  EXPECT_THAT(other.last_error(), HasSubstr("rank 1"));
  EXPECT_FALSE(exists("out"));
}

TEST_F(RanksTest, AnotherSequenceOfCollectivesIsRefused) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  const std::string short_timeout = "run.distributed.rendezvous_timeout_seconds=3";
  RunningProgram first = rank(0, 2, port.number, {"--set", short_timeout});
  RunningProgram second = rank(
      1, 2, port.number, {"--set", short_timeout, "--set", "run.checkpoint.asynchronous=true"});
  const ProgramResult refused = second.finish();
  EXPECT_EQ(refused.exit_code, kUsage) << refused.err;
  EXPECT_THAT(refused.last_error(), AllOf(HasSubstr("rank 1 was refused"),
                                          HasSubstr("\"run.checkpoint.asynchronous: true\" here"),
                                          HasSubstr("asynchronous: false\" at rank 0")));
  EXPECT_EQ(first.finish().exit_code, kPeer);
}

// Ranks may differ in settings that decide neither the result nor the sequence of collectives.
TEST_F(RanksTest, AnotherRunConfigurationIsFine) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  RunningProgram first = rank(0, 2, port.number, {"--set", "run.read.prefetch_batches=2"});
  RunningProgram second = rank(1, 2, port.number, {"--set", "run.read.prefetch_batches=3"});
  EXPECT_EQ(second.finish().exit_code, 0);
  const ProgramResult result = first.finish();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("completed: 20 steps"));
}

TEST_F(RanksTest, TheBestScoreIsThatOfAllRanks) {
  const auto run = [&](const std::string& output_dir, std::vector<std::string> more) {
    more.insert(more.end(),
                {"--output_dir", output_dir, "--set", "run.evaluation.when={every_steps: 4}",
                 "--set", "run.evaluation.best={term {monitor: 'eval/auc'}}"});
    const ProgramResult result = launch(2, more).finish();
    EXPECT_EQ(result.exit_code, 0) << result.err;
  };
  run("a", {});
  const nlohmann::json whole = read_json("a/summary.json")["best"];
  EXPECT_TRUE(exists(whole["checkpoint"]));
  run("b", {"--max_steps", "10"});
  run("b", {});
  EXPECT_EQ(read_json("b/summary.json")["best"]["score"], whole["score"]);
  EXPECT_EQ(read_json("b/summary.json")["best"]["step"], whole["step"]);
  millrace_ok({"launch", "-n", "2", "--", "evaluate", "job.textproto", "--checkpoint", "b/best",
               "--summary", "evaluated.json"});
  EXPECT_EQ(read_json("evaluated.json")["eval"]["auc"], whole["score"]);
}

TEST_F(RanksTest, AMissingRankIsNamed) {
  const std::vector<std::string> short_timeout = {"--set",
                                                  "run.distributed.rendezvous_timeout_seconds=3"};
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  RunningProgram first = rank(0, 3, port.number, short_timeout);
  RunningProgram second = rank(1, 3, port.number, short_timeout);
  for (RunningProgram* program : {&first, &second}) {
    const ProgramResult result = program->finish();
    EXPECT_EQ(result.exit_code, kPeer) << result.err;
    EXPECT_THAT(result.last_error(), HasSubstr("rank 2"));
  }
  EXPECT_FALSE(exists("out"));
}

TEST_F(RanksTest, ATakenPortIsNamed) {
  ASSERT_OK_AND_ASSIGN(const ReservedPort port, reserve_port());
  ASSERT_EQ(::listen(port.socket.get(), 5), 0);
  const ProgramResult result =
      rank(0, 2, port.number, {"--set", "run.distributed.rendezvous_timeout_seconds=3"}).finish();
  EXPECT_EQ(result.exit_code, kPeer) << result.err;
  EXPECT_THAT(result.last_error(), HasSubstr(absl::StrCat(port.number)));
}

TEST_F(RanksTest, WrongVariablesAreNamed) {
  const ProgramResult result = rank(2, 2, 12345, {}).finish();
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(result.last_error(), HasSubstr("RANK"));
}

}  // namespace
}  // namespace millrace
