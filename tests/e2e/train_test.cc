// Tests `millrace train`, `evaluate` and `config`: files, output, exit codes, signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "proto/config.pb.h"
#include "proto/config_reader.h"
#include "proto/model_configs.pb.h"
#include "tests/e2e/program_test.h"

namespace millrace {
namespace {

using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

constexpr int kRows = 2000;
constexpr int kEvalRows = 500;
constexpr int kSteps = 32;  // of 64 examples, the last step of 16

constexpr char kJob[] = R"(
train {
  train_data { path: "$DATA/part-*.parquet" batch_size: 64 shuffle_rows: 1000 }
  eval_data { data { path: "$DATA/eval.parquet" batch_size: 200 } }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..26}" }
  table { name: "c{1..26}" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [16] } }
}
run { output_dir: "out" threads: 1 report { when { every_steps: 10 at_end: true } } }
)";

class TrainTest : public ProgramTest {
 protected:
  static void SetUpTestSuite() {
    data_ = testing::TempDir() + "/data";
    const ProgramResult result =
        run_program({millrace_path(), "generate", "--output_dir", data_, "--rows",
                     absl::StrCat(kRows), "--eval_rows", absl::StrCat(kEvalRows)});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    ASSERT_THAT(result.out, HasSubstr("best possible on the evaluation examples: auc 0."));
  }

  TrainTest() {
    std::string job = kJob;
    for (size_t at; (at = job.find("$DATA")) != std::string::npos;) job.replace(at, 5, data_);
    write("job.textproto", job);
  }

  // Trains into `output_dir`. Returns the content of the last checkpoint.
  std::string train(const std::string& output_dir, std::vector<std::string> flags = {}) const {
    flags.insert(flags.begin(), {"train", "job.textproto", "--output_dir", output_dir});
    millrace_ok(std::move(flags));
    return content_of(output_dir);
  }

  static std::string data_;
};
std::string TrainTest::data_;

TEST_F(TrainTest, TablesAdmitEvictAndKeepToTheirLimits) {
  std::string job = read("job.textproto");
  const std::string plain = R"(table { name: "c{1..26}" dim: 4 })";
  const size_t at = job.find(plain);
  ASSERT_NE(at, std::string::npos);
  job.replace(at, plain.size(), R"(
  table { name: "c1" dim: 4 admission { count { min_count: 3 } } default_value { constant {} } }
  table { name: "c2" dim: 4 eviction { idle_steps: 4 } }
  table { name: "c3" dim: 4 limit { max_rows: 20 on_full: EVICT_LFU } }
  table { name: "c4" dim: 4 admission { read_only {} } }
  table { name: "c{5..26}" dim: 4 }
  hooks { name: "evict_rows" [millrace.evict_rows] { when { every_steps: 2 } } })");
  write("policies.textproto", job);
  train("plain");
  millrace_ok({"train", "policies.textproto", "--output_dir", "with"});
  const Json plain_rows = Json::parse(read("plain/summary.json"))["rows"];
  const Json rows = Json::parse(read("with/summary.json"))["rows"];
  EXPECT_LT(rows["c1"], plain_rows["c1"]);
  EXPECT_GT(rows["c1"], 0);
  EXPECT_LT(rows["c2"], plain_rows["c2"]);
  EXPECT_LE(rows["c3"], 20);
  EXPECT_EQ(rows["c4"], 0);
  EXPECT_EQ(rows["c5"], plain_rows["c5"]);
  const std::string lines = read("with/metrics/train.jsonl");
  const Json tables = Json::parse(lines.substr(0, lines.find('\n')))["tables"];
  EXPECT_GT(tables["c1"]["unadmitted"], 0);
  EXPECT_GT(tables["c2"]["evicted"]["idle_steps"], 0);
  EXPECT_GT(tables["c3"]["evicted"]["limit"], 0);
  EXPECT_GT(tables["c4"]["unadmitted"], 500);  // ten steps of 64 examples, some without an id
  EXPECT_LE(tables["c4"]["unadmitted"], 640);
  EXPECT_EQ(tables["c5"]["evicted"], Json::object());
  // A second run is equal to the last bit, and a table that is too small is an error.
  millrace_ok({"train", "policies.textproto", "--output_dir", "again"});
  EXPECT_EQ(content_of("again"), content_of("with"));
  const ProgramResult full = millrace({"train", "policies.textproto", "--output_dir", "full",
                                       "--set", "train.table[2].limit.on_full=FAIL"});
  EXPECT_NE(full.exit_code, 0);
  EXPECT_THAT(full.err, HasSubstr("feature c3: table c3 has"));
}

TEST_F(TrainTest, ACompletedRunAndWhatItLeaves) {
  const ProgramResult result = millrace_ok({"train", "job.textproto", "--summary", "s.json"});
  EXPECT_THAT(result.out, HasSubstr("completed: 32 steps, 2000 examples"));
  EXPECT_THAT(result.out, HasSubstr("checkpoint: out/checkpoints/step-00000032"));
  EXPECT_THAT(result.err, HasSubstr("step 10 "));
  std::vector<std::string> files = files_below("out");
  files.erase(std::remove_if(files.begin(), files.end(),
                             [](const std::string& name) {
                               return absl::StartsWith(name, "checkpoints/step-00000032/");
                             }),
              files.end());
  EXPECT_THAT(files, ElementsAre("checkpoints/lock", "config.textproto", "events.jsonl", "lock",
                                 "logs/rank-0.log", "metrics/eval.jsonl", "metrics/train.jsonl",
                                 "status.json", "summary.json",
                                 StartsWith("tensorboard/events.out.tfevents.")));
  EXPECT_THAT(
      millrace_ok({"explain", "out"}).out,
      ContainsRegex("^run 1 .* train on 1 rank, from step 0\n(.*\n)*.* step 32 +completed\n$"));

  const Json summary = read_json("out/summary.json");
  EXPECT_EQ(summary, read_json("s.json"));
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["stop_reason"], "");
  EXPECT_EQ(summary["error"], "");
  EXPECT_EQ(summary["steps"], kSteps);
  EXPECT_EQ(summary["epochs"], 1);
  EXPECT_EQ(summary["examples"], kRows);
  EXPECT_EQ(summary["world_size"], 1);
  EXPECT_GT(summary["seconds"], 0);
  EXPECT_GT(summary["examples_per_second"], 0);
  EXPECT_EQ(summary["checkpoint"], "out/checkpoints/step-00000032");
  EXPECT_EQ(summary["rows"].size(), 26u);
  const Json manifest = read_json("out/checkpoints/step-00000032/manifest.json");
  ASSERT_EQ(manifest["tables"].size(), 26u);
  for (const Json& table : manifest["tables"]) {
    const std::string name = table["name"];
    EXPECT_EQ(table["rows"].get<std::string>(), absl::StrCat(summary["rows"][name].get<int64_t>()));
  }

  const std::vector<Json> reports = read_json_lines("out/metrics/train.jsonl");
  ASSERT_EQ(reports.size(), 4u);
  for (size_t i = 0; i < reports.size(); ++i) {
    const int64_t step = i < 3 ? 10 * (i + 1) : kSteps;
    EXPECT_EQ(reports[i]["step"], step);
    EXPECT_EQ(reports[i]["examples"], std::min<int64_t>(64 * step, kRows));
    EXPECT_GT(reports[i]["metrics"]["loss"], 0);
  }
  EXPECT_EQ(reports.back()["metrics"], summary["train"]);
  EXPECT_EQ(summary["train_report"]["step"], kSteps);
  EXPECT_EQ(summary["train_report"]["steps"], kSteps - 30);
  for (const auto& [table, count] : summary["rows"].items()) {
    EXPECT_EQ(reports.back()["tables"][table]["rows"], count) << table;
  }

  const std::vector<Json> evaluations = read_json_lines("out/metrics/eval.jsonl");
  ASSERT_EQ(evaluations.size(), 1u);
  EXPECT_EQ(evaluations[0]["set"], "eval");
  EXPECT_EQ(evaluations[0]["step"], kSteps);
  EXPECT_EQ(evaluations[0]["evaluated_examples"], kEvalRows);
  EXPECT_EQ(evaluations[0]["metrics"], summary["eval"]);

  EXPECT_THAT(read("out/logs/rank-0.log"), Not(HasSubstr("what():")));
}

TEST_F(TrainTest, EvaluateFindsTheSameMetricsAndChangesNothing) {
  const std::string content = train("out");
  const std::vector<std::string> files = files_below("out");
  const Json trained = read_json("out/summary.json");
  for (const char* checkpoint : {"out", "out/checkpoints", "out/checkpoints/step-00000032"}) {
    const ProgramResult result = millrace_ok(
        {"evaluate", "job.textproto", "--checkpoint", checkpoint, "--summary", "e.json"});
    EXPECT_THAT(result.out, HasSubstr("examples 500"));
    const Json evaluated = read_json("e.json");
    EXPECT_EQ(evaluated["outcome"], "completed");
    EXPECT_EQ(evaluated["eval"], trained["eval"]);
    EXPECT_EQ(evaluated["rows"], trained["rows"]);
    EXPECT_EQ(evaluated["steps"], kSteps);
    EXPECT_EQ(evaluated["examples"], kRows);
    EXPECT_EQ(evaluated["checkpoint"], "out/checkpoints/step-00000032");
  }
  EXPECT_EQ(files_below("out"), files);
  EXPECT_EQ(content_of("out"), content);
  EXPECT_EQ(read_json("out/summary.json"), trained);
  // Other data gives other numbers.
  millrace_ok({"evaluate", "job.textproto", "--checkpoint", "out", "--eval_data",
               data_ + "/part-0.parquet", "--summary", "e.json"});
  EXPECT_NE(read_json("e.json")["eval"], trained["eval"]);
}

TEST_F(TrainTest, LimitsAndFlags) {
  train("five", {"--max_steps", "5", "--set", "run.log.style=OFF"});
  Json summary = read_json("five/summary.json");
  EXPECT_EQ(summary["outcome"], "completed");
  EXPECT_EQ(summary["steps"], 5);
  EXPECT_EQ(summary["examples"], 320);
  EXPECT_EQ(summary["epochs"], 0);
  EXPECT_EQ(read_json_lines("five/metrics/eval.jsonl").size(), 1u);

  train("epochs", {"--set", "train.max_epochs=2", "--set=train.train_data.batch_size=100", "--set",
                   "run.report.jsonl=false", "--set", "run.evaluation.enabled=false"});
  summary = read_json("epochs/summary.json");
  EXPECT_EQ(summary["steps"], 40);
  EXPECT_EQ(summary["epochs"], 2);
  EXPECT_EQ(summary["examples"], 2 * kRows);
  EXPECT_EQ(summary["eval"], Json::object());
  EXPECT_FALSE(exists("epochs/metrics"));

  train("other",
        {"--train_data", absl::StrCat(data_, "/part-0.parquet,", data_, "/part-[23].parquet")});
  EXPECT_EQ(read_json("other/summary.json")["examples"], kRows / 4 * 3);
}

TEST_F(TrainTest, SeveralEvaluationSets) {
  const std::string second = absl::StrCat(
      R"(train.eval_data=[{ data { path: ")", data_, R"(/eval.parquet" } }, { name: "seen" )",
      R"(data { path: ")", data_, R"(/part-0.parquet" batch_size: 64 } }])");
  train("out", {"--set", second});
  const Json summary = read_json("out/summary.json");
  EXPECT_TRUE(summary["eval"]["auc"].is_number());
  EXPECT_TRUE(summary["eval"]["seen/auc"].is_number());
  EXPECT_NE(summary["eval"]["auc"], summary["eval"]["seen/auc"]);
  const std::vector<Json> evaluations = read_json_lines("out/metrics/eval.jsonl");
  ASSERT_EQ(evaluations.size(), 2u);
  EXPECT_EQ(evaluations[0]["evaluated_examples"], kEvalRows);
  EXPECT_EQ(evaluations[1]["set"], "seen");
  EXPECT_EQ(evaluations[1]["evaluated_examples"], kRows / 4);
  const ProgramResult result = millrace_ok(
      {"evaluate", "job.textproto", "--set", second, "--checkpoint", "out", "--summary", "e.json"});
  EXPECT_THAT(result.out, HasSubstr("seen:"));
  EXPECT_EQ(read_json("e.json")["eval"], summary["eval"]);
}

TEST_F(TrainTest, OneSeedGivesOneResultWhateverTheReaders) {
  const std::string content = train("a");
  EXPECT_EQ(train("b"), content);
  EXPECT_EQ(train("c", {"--set", "run.read.reader_threads=4"}), content);
  EXPECT_EQ(train("d", {"--set", "run.read.prefetch_batches=1"}), content);
  EXPECT_EQ(train("e", {"--set", "run.report.when.every_steps=1", "--set",
                        "run.evaluation.when.every_steps=7"}),
            content);
  EXPECT_NE(train("f", {"--seed", "2"}), content);
  // The configuration file of a run is its complete configuration.
  millrace_ok({"train", "f/config.textproto", "--output_dir", "g"});
  EXPECT_EQ(content_of("g"), content_of("f"));
}

TEST_F(TrainTest, ConfigCheckAndDefaultsPrintWhatCanBeReadBack) {
  JobConfig checked, with_defaults;
  const ProgramResult check = millrace_ok({"config", "check", "job.textproto", "--seed", "9"});
  ASSERT_OK(parse_text(check.out, "check", &checked));
  EXPECT_EQ(checked.train().seed(), 9u);
  EXPECT_EQ(checked.train().feature_size(), 40);
  EXPECT_EQ(checked.train().model().GetExtension(deepfm).hidden(0), 16);

  write("checked.textproto", check.out);
  const ProgramResult defaults = millrace_ok({"config", "defaults", "checked.textproto"});
  ASSERT_OK(parse_text(defaults.out, "defaults", &with_defaults));
  EXPECT_TRUE(with_defaults.train().has_max_epochs());
  EXPECT_GT(defaults.out.size(), check.out.size());
  // Written out, the defaults mean the same, and no other field exists.
  write("defaults.textproto", defaults.out);
  EXPECT_EQ(millrace_ok({"config", "defaults", "defaults.textproto"}).out, defaults.out);
  millrace_ok({"train", "defaults.textproto", "--output_dir", "a"});
  EXPECT_EQ(content_of("a"), train("b", {"--seed", "9"}));
}

TEST_F(TrainTest, IncludesAndVariables) {
  write("own.textproto", R"(include: "job.textproto"
      train { max_steps: 3 }
      run { output_dir: "${env:MILLRACE_TEST_OUT}"
            hooks { name: "watch_tensors" [millrace.watch_tensors] {
                      pattern: "${secret:MILLRACE_TEST_PATTERN}" when { every_steps: 1 } } } })");
  const auto run = [&](const std::string& variables, const std::string& arguments) {
    return run_program(
        {"/bin/sh", "-c",
         absl::StrCat("cd ", path("."), " && ", variables, " ", millrace_path(), " ", arguments)});
  };
  const std::string both = "MILLRACE_TEST_OUT=named MILLRACE_TEST_PATTERN='*.bias'";
  const ProgramResult trained = run(both, "train own.textproto");
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  // The value of a secret is in no file of the run.
  const std::string configuration = read("named/config.textproto");
  EXPECT_THAT(configuration, HasSubstr("${secret:MILLRACE_TEST_PATTERN}"));
  EXPECT_THAT(configuration, HasSubstr("output_dir: \"named\""));
  EXPECT_THAT(configuration, Not(HasSubstr("include")));
  for (const std::string& file : files_below("named")) {
    EXPECT_THAT(read(join_path("named", file)), Not(HasSubstr("*.bias"))) << file;
  }
  EXPECT_EQ(run(both, "train own.textproto --max_steps 5").exit_code, 0) << "it resumes";
  const ProgramResult same = run(both, "config diff own.textproto named");
  EXPECT_EQ(same.exit_code, 1);
  EXPECT_EQ(same.out, "train.max_steps: 3 → 5\n");
  EXPECT_EQ(run(both, "config diff own.textproto own.textproto").out, "equal\n");

  for (const char* missing : {"MILLRACE_TEST_OUT", "MILLRACE_TEST_PATTERN"}) {
    const ProgramResult result =
        run(absl::StrCat("export ", both, " && unset ", missing, " &&"), "train own.textproto");
    EXPECT_EQ(result.exit_code, kUsage) << result.err;
    EXPECT_THAT(result.err, HasSubstr(absl::StrCat(missing, " is not set")));
  }
}

TEST_F(TrainTest, ADryRunPrintsTimesAndMemoryAndWritesNothing) {
  const ProgramResult tried = millrace_ok({"train", "job.textproto", "--output_dir", "dry",
                                           "--dry_run", "5", "--rows", "c3=1e8", "--rows", "c1=7"});
  EXPECT_FALSE(exists("dry"));
  EXPECT_THAT(
      tried.out,
      ContainsRegex("training: 5 steps of 64 examples, [0-9.]+ ms each after the first; .*auc"));
  // kEvalRows are three batches.
  EXPECT_THAT(tried.out, ContainsRegex("evaluation set eval: 3 batches, 500 examples, "));
  for (const char* part : {"backward", "dense parameters", "table c1 ", "this process",
                           "dry run: nothing was written"}) {
    EXPECT_THAT(tried.out, HasSubstr(part));
  }
  // A record of 4 weights and 8 slots takes 64 bytes, its place as many.
  EXPECT_THAT(
      tried.out,
      HasSubstr(
          "table c3 with 100000000 rows takes at most 11.9 GiB more than an empty one, 128 bytes"));
  const std::vector<std::pair<std::vector<std::string>, std::string>> mistakes = {
      {{"--dry_run", "0"}, "--dry_run"},
      {{"--rows", "c1=5"}, "--dry_run"},
      {{"--dry_run", "1", "--rows", "c1"}, "\"c1\": write TABLE=NUMBER"},
      {{"--dry_run", "1", "--rows", "c1=0.5"}, "write TABLE=NUMBER"},
      {{"--dry_run", "1", "--rows", "c1=1e30"}, "write TABLE=NUMBER"},
      {{"--dry_run", "1", "--rows", "c1=5", "--rows", "c1=6"}, "--rows names table c1 twice"},
      {{"--dry_run", "1", "--rows", "c_1=5"}, "the job has no table \"c_1\""},
  };
  for (const auto& [flags, what] : mistakes) {
    std::vector<std::string> arguments = {"train", "job.textproto", "--output_dir", "dry"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const ProgramResult refused = millrace(arguments);
    EXPECT_NE(refused.exit_code, 0);
    EXPECT_THAT(refused.err, HasSubstr(what));
  }
  const ProgramResult diverged = millrace(
      {"train", "job.textproto", "--output_dir", "dry", "--dry_run", "4", "--set",
       "train.optimizer.learning_rate=1e30", "--set", "train.sparse_optimizer.learning_rate=1e30"});
  EXPECT_EQ(diverged.exit_code, kDiverged) << diverged.err;
  EXPECT_THAT(diverged.err, ContainsRegex("of 4 steps were refused as non-finite"));
  EXPECT_FALSE(exists("dry"));
}

TEST_F(TrainTest, HelpOfEveryCommand) {
  for (const std::string command :
       {"", "train", "evaluate", "generate", "config", "hooks", "explain", "bench"}) {
    std::vector<std::string> arguments = {"--help"};
    if (!command.empty()) arguments.insert(arguments.begin(), command);
    const ProgramResult result = millrace_ok(arguments);
    EXPECT_THAT(result.out, HasSubstr("--help")) << command;
    EXPECT_EQ(result.err, "") << command;
  }
}

TEST_F(TrainTest, GeneratedOrcTrainsToo) {
  millrace_ok({"generate", "--output_dir", "d", "--rows", "500", "--eval_rows", "100", "--files",
               "2", "--format", "orc"});
  EXPECT_THAT(files_below("d"), ElementsAre(".generated", "eval.orc", "part-0.orc", "part-1.orc"));
  train("out", {"--train_data", "d/part-*.orc", "--eval_data", "d/eval.orc"});
  EXPECT_EQ(read_json("out/summary.json")["examples"], 500);
}

class SignalTest : public TrainTest,
                   public testing::WithParamInterface<std::pair<int, const char*>> {};

TEST_P(SignalTest, StopsTrainingWithACheckpointAndSaysRunAgain) {
  RunningProgram program({millrace_path(), "train", "job.textproto", "--set",
                          "train.max_epochs=100000000", "--summary", "s.json"},
                         {.directory = path("")});
  ASSERT_TRUE(program.wait_for("step 10 "));
  program.send(GetParam().first);
  const ProgramResult result = program.finish();
  EXPECT_EQ(result.exit_code, kRunAgain) << result.err;
  const std::string reason = absl::StrCat("signal ", GetParam().second);
  EXPECT_THAT(result.out, HasSubstr(absl::StrCat("stopped (", reason, ")")));

  const Json summary = read_json("out/summary.json");
  EXPECT_EQ(summary, read_json("s.json"));
  EXPECT_EQ(summary["outcome"], "stopped");
  EXPECT_EQ(summary["stop_reason"], reason);
  EXPECT_EQ(summary["error"], "");
  EXPECT_GE(summary["steps"], 10);
  EXPECT_EQ(summary["checkpoint"], newest_checkpoint("out"));
  millrace_ok({"evaluate", "job.textproto", "--checkpoint", "out", "--summary", "e.json"});
  EXPECT_EQ(read_json("e.json")["steps"], summary["steps"]);
  EXPECT_EQ(read_json("e.json")["rows"], summary["rows"]);
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalTest,
                         testing::Values(std::pair(SIGTERM, "SIGTERM"), std::pair(SIGINT, "SIGINT"),
                                         std::pair(SIGHUP, "SIGHUP"), std::pair(SIGUSR1, "SIGUSR1"),
                                         std::pair(SIGUSR2, "SIGUSR2"),
                                         std::pair(SIGXCPU, "SIGXCPU")),
                         [](const auto& info) { return std::string(info.param.second); });

class OutputTest : public TrainTest {
 protected:
  // Runs a line of bash in which $TRAIN trains the job.
  ProgramResult bash(const std::string& line) const {
    const std::string train = absl::StrCat("TRAIN='", millrace_path(), " train job.textproto'; ");
    return run_program({"/bin/bash", "-c", train + line}, {.directory = path("")});
  }

  void expect_whole(const std::string& output_dir) const {
    const Json summary = read_json(output_dir + "/summary.json");
    EXPECT_EQ(summary["outcome"], "completed");
    EXPECT_EQ(summary["steps"], kSteps);
    EXPECT_EQ(newest_checkpoint(output_dir), output_dir + "/checkpoints/step-00000032");
  }
};

TEST_F(OutputTest, ReadersThatLeaveDoNotEndTraining) {
  // `true` ends long before the first line is written.
  const ProgramResult both = bash("$TRAIN 2>&1 | true; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(both.exit_code, 0) << both.err;
  expect_whole("out");
  const ProgramResult first_line =
      bash("$TRAIN --output_dir b 2>&1 | head -n 1; exit ${PIPESTATUS[0]}");
  EXPECT_EQ(first_line.exit_code, 0) << first_line.err;
  expect_whole("b");
  const ProgramResult closed = bash("$TRAIN --output_dir c >&- 2>&-");
  EXPECT_EQ(closed.exit_code, 0) << closed.err;
  expect_whole("c");
}

TEST_F(OutputTest, NohupOutlivesTheTerminal) {
  RunningProgram program({"/bin/bash", "-c",
                          absl::StrCat("trap '' HUP; exec ", millrace_path(),
                                       " train job.textproto --set train.max_epochs=100000000")},
                         {.directory = path("")});
  ASSERT_TRUE(program.wait_for("step 10 "));
  program.send(SIGHUP);
  // The run continues: it cannot have made 1000 steps before the signal.
  ASSERT_TRUE(program.wait_for("step 1000 "));
  program.send(SIGTERM);
  EXPECT_EQ(program.finish().exit_code, kRunAgain);
  EXPECT_EQ(read_json("out/summary.json")["stop_reason"], "signal SIGTERM");
}

// A limit of file sizes sends SIGXFSZ, which would end the process without a message.
TEST_F(OutputTest, AFileBeyondTheLimitIsAFullDisk) {
  const ProgramResult result = bash(
      "ulimit -f 64; exec $TRAIN --summary s.json --set "
      "'train.model.[millrace.deepfm].hidden=[256]'");
  EXPECT_EQ(result.exit_code, kCannotWrite) << result.err;
  EXPECT_THAT(result.last_error(), HasSubstr("File too large"));
  EXPECT_EQ(newest_checkpoint("out"), "");
  EXPECT_EQ(read_json("s.json")["outcome"], "failed");
}

}  // namespace
}  // namespace millrace
