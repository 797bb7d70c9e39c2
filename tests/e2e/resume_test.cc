// Tests `millrace train` that is interrupted and started again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/e2e/program_test.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

// 40 steps of 50 examples, a report after every step.
constexpr char kJob[] = R"(
train {
  train_data { path: "data.parquet" batch_size: 50 shuffle_rows: 300 }
  eval_data { data { path: "data.parquet" batch_size: 100 } }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..2}" kind: DENSE default_value: 0 }
  feature { name: "c{1..2}" }
  table { name: "c{1..2}" dim: 4 admission { count { min_count: 2 } } eviction { idle_steps: 9 } }
  model { name: "deepfm" [millrace.deepfm] { hidden: [4] } }
  max_epochs: 2
  hooks { name: "evict_rows" [millrace.evict_rows] { when { every_steps: 3 } } }
}
run {
  threads: 1
  report { when { every_steps: 1 at_end: true } }
  checkpoint { when { every_steps: 4 } keep_last: 3 }
}
)";

class ResumeTest : public ProgramTest {
 protected:
  ResumeTest() {
    write("job.textproto", kJob);
    EXPECT_OK(write_data_file(criteo_like_table(1000, 2, 2), DataConfig::PARQUET, 300,
                              path("data.parquet")));
  }
  static std::vector<std::string> command(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"train", "job.textproto"});
    return flags;
  }
  RunningProgram start(std::vector<std::string> flags = {}) const {
    std::vector<std::string> arguments = command(std::move(flags));
    arguments.insert(arguments.begin(), millrace_path());
    return RunningProgram(std::move(arguments), {.directory = path("")});
  }
  // Returns the final content of an undisturbed run.
  std::string undisturbed() const {
    millrace_ok(command({"--output_dir", "undisturbed"}));
    return content_of("undisturbed");
  }
  // Returns all steps that the run reported, in the order of the file.
  std::vector<int64_t> reported(const std::string& output_dir) const {
    std::vector<int64_t> steps;
    for (const Json& line : read_json_lines(output_dir + "/metrics/train.jsonl")) {
      steps.push_back(line["step"]);
    }
    return steps;
  }
  // Changes one byte of the largest table file of the newest checkpoint. Returns the file.
  std::string damage() const {
    const std::string checkpoint = newest_checkpoint("out");
    for (const std::string& file : files_below(checkpoint)) {
      if (file.rfind("table-", 0) != 0) continue;
      std::string content = read(join_path(checkpoint, file));
      content[content.size() - 5] ^= 1;
      write(join_path(checkpoint, file), content);
      return join_path(checkpoint, file);
    }
    ADD_FAILURE() << "no file of a table";
    return "";
  }
};

TEST_F(ResumeTest, KilledAgainAndAgain) {
  const std::string content = undisturbed();
  int kills = 0;
  for (const char* line : {"step 2 ", "step 5 ", "step 13 ", "step 16 ", "step 21 ", "step 39 "}) {
    RunningProgram program = start();
    // A run that resumed past this line is not killed.
    if (!program.wait_for(line)) break;
    program.send(SIGKILL);
    EXPECT_EQ(program.finish().exit_code, -SIGKILL);
    ++kills;
  }
  EXPECT_GE(kills, 4);
  const ProgramResult last = millrace_ok(command({"--summary", "s.json"}));
  EXPECT_THAT(last.err, HasSubstr("resuming from out/checkpoints/step-000000"));
  EXPECT_EQ(content_of("out"), content);
  EXPECT_EQ(read_json("s.json")["steps"], 40);
  std::vector<int64_t> all(40);
  for (int64_t i = 0; i < 40; ++i) all[i] = i + 1;
  EXPECT_EQ(reported("out"), all) << "no step twice, none missing";
  const auto without_time = [](std::vector<Json> lines) {
    for (Json& line : lines) {
      for (const char* field : {"seconds", "examples_per_second", "rows_per_second",
                                "bytes_per_second", "data_wait_share", "process", "time"}) {
        line.erase(field);
      }
      for (auto& [name, table] : line["tables"].items()) table.erase("bytes");
    }
    return lines;
  };
  EXPECT_EQ(without_time(read_json_lines("out/metrics/train.jsonl")),
            without_time(read_json_lines("undisturbed/metrics/train.jsonl")));
}

TEST_F(ResumeTest, StoppedByASignal) {
  const std::string content = undisturbed();
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("step 6 "));
  program.send(SIGTERM);
  const ProgramResult stopped = program.finish();
  ASSERT_EQ(stopped.exit_code, kRunAgain) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("checkpoint: " + newest_checkpoint("out") +
                                     "; the same command resumes from there\n"));
  const ProgramResult again = millrace_ok(command());
  EXPECT_THAT(again.err, HasSubstr("resuming from out/checkpoints/step-"));
  EXPECT_EQ(content_of("out"), content);
}

TEST_F(ResumeTest, AFinishedRunHasNothingToDo) {
  millrace_ok(command());
  const std::vector<std::string> files = files_below("out");
  const std::string summary = read("out/summary.json");
  const ProgramResult again = millrace_ok(command({"--summary", "s.json"}));
  EXPECT_THAT(again.out, AllOf(HasSubstr("finished before (completed) after 40 steps"),
                               HasSubstr("checkpoint: out/checkpoints/step-00000040")));
  EXPECT_EQ(files_below("out"), files);
  EXPECT_EQ(read("out/summary.json"), summary);
  EXPECT_EQ(read_json("s.json")["outcome"], "completed");
  EXPECT_EQ(read_json("s.json")["steps"], 40);
  // A higher limit leaves steps to make.
  millrace_ok(command({"--set", "train.max_epochs=3"}));
  EXPECT_EQ(read_json("out/summary.json")["steps"], 60);
}

TEST_F(ResumeTest, AnotherJobIsRefusedWithWhatDiffers) {
  millrace_ok(command());
  const std::vector<std::string> files = files_below("out");
  const ProgramResult other = millrace(command({"--seed", "7"}));
  EXPECT_EQ(other.exit_code, kUsage);
  EXPECT_THAT(other.err, AllOf(HasSubstr("another job"), HasSubstr("seed: 1 → 7")));
  EXPECT_EQ(files_below("out"), files);
  // The refusal of a change names the flag that accepts the change.
  const std::string rate = "train.optimizer.learning_rate=0.5";
  const ProgramResult slower = millrace(command({"--set", rate}));
  EXPECT_EQ(slower.exit_code, kUsage);
  EXPECT_THAT(slower.err, AllOf(HasSubstr("--accept_changes"), HasSubstr("→ 0.5")));
  EXPECT_EQ(files_below("out"), files);
  // Limits and settings that do not decide the result may change.
  millrace_ok(
      command({"--threads", "2", "--max_steps", "100", "--set", "run.report.when.every_steps=7"}));
}

TEST_F(ResumeTest, AJobGoesOnWithAcceptedChanges) {
  millrace_ok(command());
  const std::vector<std::string> changed = {"--accept_changes",
                                            "--set",
                                            "train.max_epochs=3",
                                            "--set",
                                            "train.optimizer.learning_rate=0.5",
                                            "--set",
                                            "train.optimizer.schedule.cosine.length.count=100",
                                            "--set",
                                            "train.train_data.batch_size=1000"};
  const ProgramResult run = millrace_ok(command(changed));
  EXPECT_THAT(run.err, AllOf(HasSubstr("resumed with a change of train.optimizer.learning_rate"),
                             HasSubstr("resumed with a change of train.train_data.batch_size")));
  EXPECT_EQ(read_json("out/summary.json")["epochs"], 3);
  EXPECT_LT(read_json("out/summary.json")["steps"], 60) << "the third epoch has larger batches";
  EXPECT_THAT(read("out/events.jsonl"), HasSubstr("train.optimizer.learning_rate: "));
  std::vector<std::string> other = changed;
  other.insert(other.end(), {"--seed", "7"});
  const ProgramResult refused = millrace(command(other));
  EXPECT_EQ(refused.exit_code, kUsage);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cannot change"), HasSubstr("seed: 1 → 7"),
                                 Not(HasSubstr("batch_size"))));
}

TEST_F(ResumeTest, NeverAndFromAPath) {
  millrace_ok(command());
  const ProgramResult never = millrace(command({"--resume", "never"}));
  EXPECT_EQ(never.exit_code, kUsage);
  EXPECT_THAT(never.err, AllOf(HasSubstr("out/checkpoints"), HasSubstr("another output_dir")));
  millrace_ok(command({"--resume", "never", "--output_dir", "fresh"}));
  EXPECT_EQ(content_of("fresh"), content_of("out"));
  // The checkpoints of steps 32, 36 and 40 exist.
  const std::string older = "out/checkpoints/step-00000032";
  const ProgramResult here = millrace(command({"--resume", older}));
  EXPECT_EQ(here.exit_code, kUsage);
  EXPECT_THAT(here.err, HasSubstr("step 40"));
  const ProgramResult there = millrace_ok(command({"--resume", older, "--output_dir", "branch"}));
  EXPECT_THAT(there.err, HasSubstr("resuming from " + older + ": step 32"));
  EXPECT_EQ(content_of("branch"), content_of("out"));
  EXPECT_FALSE(exists("branch/checkpoints/step-00000032"));
  const ProgramResult none = millrace(command({"--resume", "nowhere", "--output_dir", "n"}));
  EXPECT_EQ(none.exit_code, kNoInput);
  EXPECT_THAT(none.err, HasSubstr("nowhere"));
  EXPECT_FALSE(exists("n"));
}

TEST_F(ResumeTest, DamageIsPassedOverOrRefused) {
  const std::string content = undisturbed();
  millrace_ok(command({"--max_steps", "20"}));
  const std::string file = damage();
  const ProgramResult strict = millrace(command({"--set", "run.checkpoint.on_damage=STRICT"}));
  EXPECT_EQ(strict.exit_code, kBadData);
  EXPECT_THAT(strict.err, HasSubstr(file));
  const ProgramResult result = millrace_ok(command());
  EXPECT_THAT(result.err, AllOf(HasSubstr(file), HasSubstr("resuming from"), HasSubstr("step 16")));
  EXPECT_EQ(content_of("out"), content);
}

TEST_F(ResumeTest, TwoAtOnce) {
  RunningProgram first = start({"--set", "train.max_epochs=100000000"});
  ASSERT_TRUE(first.wait_for("step 6 "));
  const ProgramResult second = millrace(command({"--set", "train.max_epochs=100000000"}));
  EXPECT_EQ(second.exit_code, kPeer) << "the first may soon leave; " << second.err;
  EXPECT_THAT(second.err, AllOf(HasSubstr("another run writes in out:"),
                                HasSubstr(absl::StrCat(first.process()))));
  first.send(SIGTERM);
  EXPECT_EQ(first.finish().exit_code, kRunAgain);
}

// A network file system gives the lock to another run while this one is cut off.
TEST_F(ResumeTest, ARunThatLostItsDirectoryLeavesTheSummaryOfTheOther) {
  RunningProgram run = start({"--set", "train.max_epochs=100000000", "--summary", "own.json"});
  ASSERT_TRUE(run.wait_for("step 6 "));
  write("out/summary.json", "of the other run");
  write("out/lock", "host b pid 7 since 2026-01-02T03:04:05Z\nrun another\n");
  const ProgramResult result = run.finish();
  EXPECT_EQ(result.exit_code, kPeer);
  EXPECT_THAT(result.err, HasSubstr("summary.json is not written: out was taken by another run"));
  EXPECT_EQ(read("out/summary.json"), "of the other run");
  EXPECT_THAT(read("own.json"), HasSubstr("was taken by another run"));
}

// The log file contains the messages from before it was opened, and all messages of the console.
TEST_F(ResumeTest, TheLogFileTellsTheRuns) {
  const auto in_order = [](const std::string& text, const std::vector<std::string>& parts) {
    size_t at = 0;
    for (const std::string& part : parts) {
      at = text.find(part, at);
      if (at == std::string::npos) return "not there, or not in order: " + part + "\nin\n" + text;
      at += part.size();
    }
    return std::string();
  };
  RunningProgram program = start();
  ASSERT_TRUE(program.wait_for("step 6 "));
  program.send(SIGTERM);
  ASSERT_EQ(program.finish().exit_code, kRunAgain);
  const std::string first = read("out/logs/rank-0.log");
  EXPECT_EQ(
      in_order(first, {"train of Millrace", "rank 0 of 1, output_dir out, configuration ",
                       "hooks: output, ", "beginning anew", "saved out/checkpoints/step-00000004",
                       "stopping: signal SIGTERM", "stopped (signal SIGTERM): "}),
      "");
  EXPECT_THAT(first, HasSubstr("saved " + newest_checkpoint("out")));
  const std::string file = damage();
  millrace_ok(command());
  const std::string second = read("out/logs/rank-0.log").substr(first.size());
  EXPECT_EQ(in_order(second, {"train of Millrace", "passed over: ", file + " is damaged",
                              "resuming from out/checkpoints/step-000000",
                              "saved out/checkpoints/step-00000040", "completed: 40 steps"}),
            "");
  EXPECT_THAT(second, Not(HasSubstr("anew")));
  millrace_ok(command());
  const std::string third = read("out/logs/rank-0.log").substr(first.size() + second.size());
  EXPECT_EQ(in_order(third, {"train of Millrace", "finished before (completed) after 40 steps"}),
            "");
  // A refused run does not appear in the log.
  EXPECT_EQ(millrace(command({"--seed", "7"})).exit_code, kUsage);
  EXPECT_EQ(read("out/logs/rank-0.log"), first + second + third);
}

TEST_F(ResumeTest, ExplainTellsOfEverySave) {
  millrace_ok(command({"--max_steps", "6"}));
  const ProgramResult explained = millrace_ok({"explain", "out"});
  EXPECT_THAT(explained.out,
              AllOf(HasSubstr("step 4        checkpoint  asked by checkpoint_save, served\n"),
                    HasSubstr("step 6        checkpoint  at the end: done\n"),
                    testing::EndsWith("step 6        completed\n")));
}

// Returns true if the process has a handler for this signal.
bool catches(pid_t process, int signal) {
  std::ifstream status(absl::StrCat("/proc/", process, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigCgt:", 0) != 0) continue;
    return (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1) & 1) != 0;
  }
  return false;
}

TEST_F(ResumeTest, ASignalBeforeTrainingSaysSo) {
  // Takes longer than the test's time-out.
  write("long.textproto", R"(
    train {
      generated_data { directory: "data" rows: 1000000000 }
      train_data { batch_size: 50 }
      feature { name: "label" kind: LABEL }
      feature { name: "i1" kind: DENSE default_value: 0 }
      model { name: "mlp" }
    })");
  RunningProgram program({millrace_path(), "train", "long.textproto"}, {.directory = path("")});
  while (!catches(program.process(), SIGUSR1)) {
    siginfo_t ended = {};
    ASSERT_EQ(::waitid(P_PID, program.process(), &ended, WEXITED | WNOHANG | WNOWAIT), 0);
    ASSERT_EQ(ended.si_pid, 0) << "it has ended";
  }
  program.send(SIGTERM);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, kRunAgain) << result.err;
  EXPECT_THAT(result.last_error(), AllOf(HasSubstr("stopped by SIGTERM"), HasSubstr("run again")));
  EXPECT_FALSE(exists("out"));
}

TEST_F(ResumeTest, AMetricThatNoEvaluationGives) {
  const ProgramResult result =
      millrace(command({"--set", "run.checkpoint.keep_best=[{ metric: \"eval/acu\" }]"}));
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(result.last_error(),
              AllOf(HasSubstr("run.checkpoint.keep_best \"eval/acu\""),
                    HasSubstr("did you mean \"eval/auc\"?"), HasSubstr("metrics: loss, auc")));
  EXPECT_FALSE(exists("out"));
}

TEST_F(ResumeTest, EvaluateAndPredictSayWhatTheyLoadAndPassOverDamage) {
  millrace_ok(command({"--max_steps", "8"}));
  const std::vector<std::string> evaluate = {"evaluate", "job.textproto", "--checkpoint",
                                             "out",      "--summary",     "s.json"};
  const std::vector<std::string> predict = {"predict",  "job.textproto", "--checkpoint", "out",
                                            "--output", "p.csv",         "--summary",    "s.json"};
  for (const std::vector<std::string>& arguments : {evaluate, predict}) {
    EXPECT_THAT(millrace_ok(arguments).err,
                HasSubstr("loaded out/checkpoints/step-00000008: step 8, 400 examples"));
    EXPECT_EQ(read_json("s.json")["checkpoint"], "out/checkpoints/step-00000008");
  }
  const std::string file = damage();
  for (const std::vector<std::string>& arguments : {evaluate, predict}) {
    EXPECT_THAT(millrace_ok(arguments).err,
                AllOf(HasSubstr("passed over: "), HasSubstr(file + " is damaged"),
                      HasSubstr("loaded out/checkpoints/step-00000004: step 4")));
    EXPECT_EQ(read_json("s.json")["checkpoint"], "out/checkpoints/step-00000004");
    EXPECT_EQ(read_json("s.json")["steps"], 4);
  }
  // A checkpoint that is named is not replaced by another.
  const ProgramResult named =
      millrace({"evaluate", "job.textproto", "--checkpoint", "out/checkpoints/step-00000008"});
  EXPECT_EQ(named.exit_code, kBadData);
  EXPECT_THAT(named.last_error(), HasSubstr(file + " is damaged"));
}

TEST_F(ResumeTest, FromAPathDamageIsPassedOverToo) {
  millrace_ok(command({"--max_steps", "8"}));
  const std::string file = damage();
  const ProgramResult there =
      millrace_ok(command({"--resume", "out", "--output_dir", "branch", "--max_steps", "8"}));
  EXPECT_THAT(there.err, AllOf(HasSubstr("passed over: "), HasSubstr(file),
                               HasSubstr("resuming from out/checkpoints/step-00000004")));
  const ProgramResult strict = millrace(command(
      {"--resume", "out", "--output_dir", "strict", "--set", "run.checkpoint.on_damage=STRICT"}));
  EXPECT_EQ(strict.exit_code, kBadData);
  EXPECT_THAT(strict.last_error(), AllOf(HasSubstr("STRICT"), HasSubstr(file)));
}

TEST_F(ResumeTest, OtherNamesAmongCheckpointsAreNotLookedAt) {
  for (const char* name : {"notes.txt", ".DS_Store", "7-steps", "step-00000006.bak", "backup/x",
                           "step-00000005.bak/x"}) {
    std::filesystem::create_directories(
        std::filesystem::path(path(absl::StrCat("out/checkpoints/", name))).parent_path());
    write(absl::StrCat("out/checkpoints/", name), "mine");
  }
  const std::string content = undisturbed();
  const ProgramResult first = millrace_ok(command({"--max_steps", "20", "--overwrite"}));
  const ProgramResult second = millrace_ok(command());
  EXPECT_THAT(second.err, HasSubstr("step 20"));
  for (const std::string& err : {first.err, second.err}) {
    for (const std::string& line : std::vector<std::string>(absl::StrSplit(err, '\n'))) {
      if (absl::StartsWith(line, "W20")) EXPECT_THAT(line, HasSubstr("both read data.parquet"));
    }
  }
  EXPECT_EQ(content_of("out"), content);
  EXPECT_EQ(read("out/checkpoints/step-00000006.bak"), "mine");
  EXPECT_EQ(read("out/checkpoints/step-00000005.bak/x"), "mine");
  // A directory with the name of a checkpoint counts as a damaged checkpoint, which is reported
  // once.
  std::filesystem::create_directories(path("out/checkpoints/step-99999999"));
  const ProgramResult again = millrace_ok(command({"--set", "train.max_epochs=3"}));
  const size_t at = again.err.find("step-99999999 is damaged: it has no manifest.json");
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(again.err.find("step-99999999", at + 1), std::string::npos) << again.err;
}

TEST_F(ResumeTest, AFileNamedAsACheckpointIsFoundBeforeTheFirstStep) {
  std::filesystem::create_directories(path("out/checkpoints"));
  write("out/checkpoints/step-00000008", "mine");
  const ProgramResult result = millrace(command({"--overwrite"}));
  EXPECT_EQ(result.exit_code, kCannotWrite);
  EXPECT_THAT(result.last_error(),
              AllOf(HasSubstr("out/checkpoints/step-00000008"), HasSubstr("move it away")));
  EXPECT_EQ(read("out/checkpoints/step-00000008"), "mine");
  EXPECT_THAT(result.err, Not(HasSubstr("step 1 ")));
}

// Reports a limit below the current step, and figures of an evaluation that is older than the
// model.
TEST_F(ResumeTest, WhereARunStandsIsSaid) {
  const std::vector<std::string> twelve = {"--max_steps", "12", "--set",
                                           "run.evaluation.when={every_steps: 8}"};
  const ProgramResult first = millrace_ok(command(twelve));
  EXPECT_THAT(first.out, HasSubstr("eval (of step 8):"));
  EXPECT_EQ(read_json("out/summary.json")["eval_step"]["eval"], 8);
  EXPECT_THAT(millrace_ok(command(twelve)).out, HasSubstr("train.max_steps is 12: raise it"));
  const ProgramResult below = millrace_ok(command({"--max_steps", "5"}));
  EXPECT_THAT(below.out, AllOf(HasSubstr("train.max_steps is 5, but this run stands at step 12"),
                               Not(HasSubstr("train.max_epochs"))));
}

TEST_F(ResumeTest, SavingSwitchedOff) {
  const std::vector<std::string> off = {"--set", "run.checkpoint.enabled=false"};
  const ProgramResult result = millrace_ok(command(off));
  EXPECT_THAT(result.out, Not(HasSubstr("checkpoint")));
  EXPECT_FALSE(exists("out/checkpoints"));
  EXPECT_EQ(read_json("out/summary.json")["checkpoint"], "");
  // The checkpoint that the run resumed from belongs to another run.
  millrace_ok(command({"--output_dir", "saved", "--max_steps", "4"}));
  const ProgramResult on = millrace_ok(command(
      {"--set", "run.checkpoint.enabled=false", "--resume", "saved", "--output_dir", "on"}));
  EXPECT_THAT(on.out, Not(HasSubstr("checkpoint")));
}

TEST_F(ResumeTest, RetentionKeepsTheBestAndTheLast) {
  millrace_ok(command({"--set", "run.checkpoint.keep_last=2", "--set",
                       "run.checkpoint.keep_best=[{ metric: \"eval/logloss\" higher_is_better: "
                       "false }]",
                       "--set", "run.evaluation.when={every_steps: 4}", "--set",
                       "run.checkpoint.keep_every=16"}));
  std::string best;
  double least = 1e9;
  for (const Json& line : read_json_lines("out/metrics/eval.jsonl")) {
    if (line["metrics"]["logloss"] >= least) continue;
    least = line["metrics"]["logloss"];
    best = absl::StrCat("step-000000", line["step"].get<int64_t>() < 10 ? "0" : "",
                        line["step"].get<int64_t>());
  }
  std::set<std::string> there;
  for (const auto& entry : std::filesystem::directory_iterator(path("out/checkpoints"))) {
    if (entry.is_directory()) there.insert(entry.path().filename().string());
  }
  EXPECT_EQ(there, (std::set<std::string>{"step-00000016", "step-00000032", "step-00000036",
                                          "step-00000040", best}));
}

}  // namespace
}  // namespace millrace
