#include "hooks/mllog_hook.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kConfig[] = R"(
  benchmark: "tiny" organization: "example.org" platform: "one"
  value { key: "seed" integer: 7 }
  value { key: "opt_name" text: "sgd" }
  value { key: "opt_base_learning_rate" number: 0.5 }
  value { key: "cache_clear" flag: true }
  accuracy: "eval/logloss")";

MllogConfig config_of(const std::string& text) {
  MllogConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

class MllogHookTest : public testing::Test {
 protected:
  std::unique_ptr<MllogHook> make(const std::string& more = "") {
    return std::make_unique<MllogHook>(files_, Clock::real(), "out", config_of(kConfig + more));
  }
  std::vector<json> lines() {
    std::vector<json> lines;
    const auto text = read_file(files_, "out/mllog.txt");
    EXPECT_OK(text);
    if (!text.ok()) return lines;
    for (absl::string_view line : absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      EXPECT_TRUE(absl::ConsumePrefix(&line, ":::MLLOG ")) << line;
      lines.push_back(json::parse(line.begin(), line.end()));
    }
    return lines;
  }
  std::vector<std::string> keys() {
    std::vector<std::string> keys;
    for (const json& line : lines()) keys.push_back(line["key"]);
    return keys;
  }
  json line(const std::string& key) {
    for (const json& line : lines()) {
      if (line["key"] == key) return line;
    }
    ADD_FAILURE() << "no line " << key;
    return {};
  }

  MemoryFileSystem files_;
};

[[maybe_unused]] const bool kMllogHook = register_hook_conformance(
    "MllogHook", {.make = [] {
      static MemoryFileSystem files;
      return std::make_unique<MllogHook>(files, Clock::real(), "out", config_of(kConfig));
    }});

TEST_F(MllogHookTest, TheLinesOfARun) {
  TinyTrainerOptions options;
  options.trainer.max_epochs = 2;
  options.trainer.metrics = {"logloss"};
  const auto trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(make()));
  ASSERT_OK(trainer->train_and_evaluate());
  EXPECT_THAT(keys(),
              ElementsAre("submission_benchmark", "submission_org", "submission_division",
                          "submission_platform", "submission_status", "init_start", "seed",
                          "opt_name", "opt_base_learning_rate", "cache_clear", "init_stop",
                          "run_start", "epoch_start", "epoch_stop", "epoch_start", "epoch_stop",
                          "eval_start", "eval_accuracy", "eval_stop", "run_stop"));
  EXPECT_EQ(line("submission_org")["value"], "example.org");
  EXPECT_EQ(line("submission_division")["value"], "open");
  EXPECT_EQ(line("seed")["value"], 7);
  EXPECT_EQ(line("cache_clear")["value"], true);
  EXPECT_EQ(line("cache_clear")["event_type"], "POINT_IN_TIME");
  EXPECT_EQ(line("epoch_start")["event_type"], "INTERVAL_START");
  EXPECT_EQ(line("epoch_start")["metadata"], (json{{"epoch_num", 1}, {"samples_count", 0}}));
  EXPECT_EQ(line("epoch_stop")["event_type"], "INTERVAL_END");
  EXPECT_EQ(line("epoch_stop")["metadata"]["epoch_num"], 1);
  EXPECT_GT(line("epoch_stop")["metadata"]["samples_count"], 0);
  EXPECT_EQ(line("eval_accuracy")["metadata"]["samples_count"], trainer->progress().examples);
  EXPECT_GT(line("eval_accuracy")["value"], 0);
  EXPECT_EQ(line("run_stop")["metadata"]["status"], "success");
  int64_t before = 0;
  for (const json& line : lines()) {
    EXPECT_GE(line["time_ms"].get<int64_t>(), before);
    before = line["time_ms"].get<int64_t>();
  }
}

TEST_F(MllogHookTest, WindowsAreBlocks) {
  TinyTrainerOptions options;
  options.trainer.max_epochs = 0;
  TrainerParts parts = tiny_parts(options);
  parts.train_data = std::make_unique<FakeWindowedDataset>(
      options.train, std::vector<FakeWindow>{{.batches = 1}, {.batches = 1}});
  ASSERT_OK_AND_ASSIGN(const auto trainer, Trainer::create(options.trainer, std::move(parts)));
  ASSERT_OK(trainer->add_hook(make()));
  ASSERT_OK(trainer->train().status());
  std::vector<json> blocks;
  for (const json& line : lines()) {
    if (absl::StartsWith(line["key"].get<std::string>(), "block")) blocks.push_back(line);
  }
  ASSERT_EQ(blocks.size(), 4);
  EXPECT_EQ(blocks[0]["metadata"]["first_epoch_num"], 1);
  EXPECT_EQ(blocks[0]["metadata"]["epoch_count"], 1);
  EXPECT_EQ(blocks[3]["key"], "block_stop");
  EXPECT_EQ(blocks[3]["metadata"]["first_epoch_num"], 2);
}

// Calls a hook like a run of data in windows, up to a step.
class StreamRun {
 public:
  StreamRun(Hook& hook, int64_t step) : hook_(hook) {
    context_.windowed_is = true;
    context_.at.step = step;
    EXPECT_OK(hook_.start(context_));
  }
  void window(int64_t index) {
    Window window;
    window.index = index;
    EXPECT_OK(hook_.before_window(context_, window));
  }
  void step() { EXPECT_OK(hook_.before_step(context_)); }
  void evaluate(double value, const std::string& metric = "logloss") {
    EvaluationResult result;
    result.set = "eval";
    result.metrics = {{metric, value}};
    EXPECT_OK(hook_.after_evaluate(context_, result));
  }
  void end(const absl::Status& outcome = absl::OkStatus()) {
    EXPECT_OK(hook_.end(context_, outcome));
  }

 private:
  Hook& hook_;
  FakeHookContext context_;
};

TEST_F(MllogHookTest, AResumedRunContinuesTheFile) {
  HookState state;
  std::vector<std::string> before;
  {
    const auto hook = make();
    StreamRun run(*hook, 0);
    run.window(0);
    run.step();
    run.evaluate(0.5);
    ASSERT_OK(hook->save_state(state));
    before = keys();
    run.window(1);
    run.end();
  }
  const auto hook = make();
  ASSERT_OK(hook->load_state({&state, 1}));
  StreamRun run(*hook, 5);
  run.window(0);
  run.window(1);
  run.end();
  before.insert(before.end(), {"block_start", "run_stop"});
  EXPECT_EQ(keys(), before) << "neither the beginning nor the open block is repeated";
}

TEST_F(MllogHookTest, ACheckpointHasDurableLinesAlone) {
  RecordingFileSystem files(files_);
  MllogHook hook(files, Clock::real(), "out", config_of(kConfig));
  StreamRun run(hook, 0);
  run.step();
  HookState state;
  ASSERT_OK(hook.save_state(state));
  const std::vector<FileOperation> operations = files.operations();
  ASSERT_FALSE(operations.empty());
  EXPECT_EQ(operations.back().kind, FileOperation::Kind::kSyncDirectory);
  EXPECT_EQ(operations.at(operations.size() - 2).kind, FileOperation::Kind::kSync);
}

TEST_F(MllogHookTest, ALogThatIsNotDurableFailsNoCheckpoint) {
  FaultFileSystem files(files_);
  MllogHook hook(files, Clock::real(), "out", config_of(kConfig));
  StreamRun run(hook, 0);
  run.step();
  files.fail(files.calls() + 1, 1, absl::UnavailableError("injected"));
  HookState state;
  ASSERT_OK(hook.save_state(state));
  EXPECT_FALSE(state.empty());
  FakeHookContext context;
  EXPECT_THAT(hook.after_checkpoint(context, CheckpointInfo()),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("injected")));
  EXPECT_OK(hook.after_checkpoint(context, CheckpointInfo())) << "reported once";
}

TEST_F(MllogHookTest, AnEvaluationBetweenTwoTrainingsKeepsTheFile) {
  const auto hook = make();
  {
    StreamRun run(*hook, 0);
    run.window(0);
    run.step();
    run.end();
  }
  std::vector<std::string> expected = keys();
  FakeHookContext evaluation;
  evaluation.phase_is = Phase::kEvaluate;
  ASSERT_OK(hook->start(evaluation));
  ASSERT_OK(hook->end(evaluation, absl::OkStatus()));
  StreamRun run(*hook, 5);
  run.window(1);
  run.end();
  expected.insert(expected.end(), {"block_start", "run_stop"});
  EXPECT_EQ(keys(), expected);
}

TEST_F(MllogHookTest, ACheckpointWithoutTheHookBeginsALog) {
  const auto hook = make();
  StreamRun run(*hook, 5);
  run.step();
  run.end();
  EXPECT_EQ(keys().front(), "submission_benchmark");
}

TEST_F(MllogHookTest, TheStatusIsThatOfTheTarget) {
  const auto status = [&](const std::string& metric, double value, const std::string& target,
                          const absl::Status& outcome = absl::OkStatus()) {
    MllogConfig config = config_of(kConfig + target);
    config.set_accuracy("eval/" + metric);
    MllogHook hook(files_, Clock::real(), "out", config);
    StreamRun run(hook, 0);
    run.step();
    run.evaluate(value, metric);
    run.end(outcome);
    return line("run_stop")["metadata"]["status"].get<std::string>();
  };
  EXPECT_EQ(status("auc", 0.5, "target: 0.5"), "success");
  EXPECT_EQ(status("auc", 0.75, "target: 0.5"), "success");
  EXPECT_EQ(status("auc", 0.25, "target: 0.5"), "aborted");
  EXPECT_EQ(status("logloss", 0.5, "target: 0.5"), "success");
  EXPECT_EQ(status("buy/logloss", 0.25, "target: 0.5"), "success");
  EXPECT_EQ(status("logloss", 0.75, "target: 0.5"), "aborted");
  EXPECT_EQ(status("auc", NAN, "target: 0.5"), "aborted");
  EXPECT_EQ(status("logloss", NAN, "target: 0.5"), "aborted");
  EXPECT_EQ(status("no_direction", 0.75, "target: 0.5"), "success");
  EXPECT_EQ(status("auc", 0.25, ""), "success");
  EXPECT_EQ(status("auc", 0.75, "", absl::InternalError("broken")), "aborted");
}

TEST_F(MllogHookTest, ARunWithoutAStepLeavesNoLog) {
  for (const absl::Status& outcome : {absl::OkStatus(), absl::InternalError("no data")}) {
    const auto hook = make();
    StreamRun run(*hook, 0);
    run.window(0);
    HookState state;
    EXPECT_OK(hook->save_state(state));
    run.end(outcome);
    EXPECT_THAT(files_.info("out").status(), StatusIs(absl::StatusCode::kNotFound));
    // A run that resumes from a checkpoint before the first step begins the log.
    const auto resumed = make();
    ASSERT_OK(resumed->load_state({&state, 1}));
    StreamRun next(*resumed, 0);
    next.window(0);
    next.step();
    next.end();
    EXPECT_EQ(keys().front(), "submission_benchmark");
    EXPECT_EQ(keys().at(keys().size() - 2), "block_start");
    ASSERT_OK(remove_recursively(files_, "out"));
  }
}

TEST_F(MllogHookTest, AnErrorAtTheFirstStepLosesNoLine) {
  std::vector<std::string> expected;
  {
    const auto hook = make();
    StreamRun run(*hook, 0);
    run.step();
    run.end();
    expected = keys();
  }
  FaultFileSystem files(files_);
  for (int64_t call = 1; call <= 4; ++call) {
    ASSERT_OK(remove_recursively(files_, "out"));
    MllogHook hook(files, Clock::real(), "out", config_of(kConfig));
    StreamRun run(hook, 0);
    files.fail(files.calls() + call, 1, absl::UnavailableError("injected"));
    FakeHookContext context;
    hook.before_step(context).IgnoreError();
    run.step();
    run.end();
    EXPECT_EQ(keys(), expected) << "call " << call;
  }
}

TEST_F(MllogHookTest, LinesBeforeTheFirstStepHaveTheTimesOfTheirEvents) {
  FakeClock clock(absl::FromUnixMillis(1000));
  MllogHook hook(files_, clock, "out", config_of(kConfig));
  clock.advance(absl::Seconds(1));
  StreamRun run(hook, 0);
  clock.advance(absl::Seconds(1));
  run.window(0);
  clock.advance(absl::Seconds(1));
  run.step();
  EXPECT_EQ(line("init_start")["time_ms"], 1000);
  EXPECT_EQ(line("run_start")["time_ms"], 2000);
  EXPECT_EQ(line("block_start")["time_ms"], 3000);
  run.end();
}

TEST_F(MllogHookTest, AMetricThatIsNotThereIsNamed) {
  const auto hook = make();
  FakeHookContext context;
  ASSERT_OK(hook->start(context));
  EvaluationResult result;
  result.set = "eval";
  result.metrics = {{"auc", 0.5}};
  EXPECT_THAT(hook->after_evaluate(context, result),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("logloss")));
}

TEST_F(MllogHookTest, DamagedStatesAreRefused) {
  const auto hook = make();
  for (const HookState& bad : {HookState{2, "1 2 3"}, HookState{1, "1 2"}, HookState{1, "a b c"}}) {
    EXPECT_THAT(hook->load_state({&bad, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

TEST(MllogHookCheckTest, EachMistakeHasALine) {
  EXPECT_THAT(
      MllogHook::check(config_of(R"(
        division: "half" accuracy: "auc" value { key: "seed" } value { integer: 1 }
        value { key: "run_start" flag: true } value { key: "seed" integer: 1 })")),
      StatusIs(
          absl::StatusCode::kInvalidArgument,
          AllOf(HasSubstr("benchmark is missing"), HasSubstr("organization is missing"),
                HasSubstr("platform is missing"), HasSubstr("division is \"half\""),
                HasSubstr("accuracy is \"auc\""), HasSubstr("value[0]: \"seed\" has no value"),
                HasSubstr("value[1]: key is missing"), HasSubstr("value[2]: key is \"run_start\""),
                HasSubstr("value[3]: there is a value for \"seed\" before"))));
}

TEST(MllogHookCheckTest, FilesOfOthersAreRefused) {
  for (const char* file : {"", "../x", "/tmp/x", "events.jsonl", "metrics/train.jsonl"}) {
    EXPECT_THAT(
        MllogHook::check(config_of(absl::StrCat(kConfig, "file: \"", file, "\""))),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[millrace.mllog]: file is")))
        << file;
  }
  EXPECT_OK(MllogHook::check(config_of(absl::StrCat(kConfig, "file: \"metrics/mllog.txt\""))));
}

}  // namespace
}  // namespace millrace
