// `millrace train` that is interrupted and started again, from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
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

constexpr int kUsage = 64;
constexpr int kBadData = 65;
constexpr int kNoInput = 66;
constexpr int kRunAgain = 75;

// 40 steps of 50 examples, a report after every one.
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
  // The content that an undisturbed run comes to.
  std::string undisturbed() const {
    millrace_ok(command({"--output_dir", "undisturbed"}));
    return content_of("undisturbed");
  }
  // All steps that the run reported, in the order of the file.
  std::vector<int64_t> reported(const std::string& output_dir) const {
    std::vector<int64_t> steps;
    for (const Json& line : read_json_lines(output_dir + "/metrics/train.jsonl")) {
      steps.push_back(line["step"]);
    }
    return steps;
  }
  // Changes one byte of the largest table file of the newest checkpoint. Returns: the file.
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
    // One that is past this line by what it saved before is not killed here.
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
      for (const char* field : {"seconds", "examples_per_second", "data_wait_share"})
        line.erase(field);
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
  EXPECT_THAT(stopped.out, HasSubstr("checkpoint: " + newest_checkpoint("out")));
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
  // With a higher limit there is.
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
  // What does not decide the result, and limits, may change.
  millrace_ok(
      command({"--threads", "2", "--max_steps", "100", "--set", "run.report.when.every_steps=7"}));
}

TEST_F(ResumeTest, NeverAndFromAPath) {
  millrace_ok(command());
  const ProgramResult never = millrace(command({"--resume", "never"}));
  EXPECT_EQ(never.exit_code, kUsage);
  EXPECT_THAT(never.err, AllOf(HasSubstr("out/checkpoints"), HasSubstr("another output_dir")));
  millrace_ok(command({"--resume", "never", "--output_dir", "fresh"}));
  EXPECT_EQ(content_of("fresh"), content_of("out"));
  // Steps 32 and 36 and 40 are there.
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
  EXPECT_EQ(second.exit_code, kUsage) << second.err;
  EXPECT_THAT(second.err,
              AllOf(HasSubstr("out/checkpoints"), HasSubstr(absl::StrCat(first.process()))));
  first.send(SIGTERM);
  EXPECT_EQ(first.finish().exit_code, kRunAgain);
}

TEST_F(ResumeTest, SavingSwitchedOff) {
  const std::vector<std::string> off = {"--set", "run.checkpoint.enabled=false"};
  const ProgramResult result = millrace_ok(command(off));
  EXPECT_THAT(result.out, Not(HasSubstr("checkpoint")));
  EXPECT_FALSE(exists("out/checkpoints"));
  EXPECT_EQ(read_json("out/summary.json")["checkpoint"], "");
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
