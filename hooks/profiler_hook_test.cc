#include "hooks/profiler_hook.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "proto/inspection_hook_configs.pb.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::SizeIs;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

ProfilerHookOptions options_of(const TraceSchedule& schedule) {
  return {.schedule = schedule, .directory = "out/profile"};
}

// Returns the status of the factory for a configuration.
absl::Status create(const std::string& text) {
  HookConfig config;
  config.set_name("profiler");
  EXPECT_TRUE(
      google::protobuf::TextFormat::ParseFromString(text, config.MutableExtension(profiler)));
  MemoryFileSystem files;
  return create_hook(config, {files, Clock::real(), "out", {}}).status();
}

class ProfilerHookTest : public testing::Test {
 protected:
  // Returns a trainer with the hook.
  std::unique_ptr<Trainer> trainer(const TraceSchedule& schedule, TinyTrainerOptions options = {},
                                   OnError on_error = OnError::kFail) {
    auto trainer = tiny_trainer(std::move(options));
    EXPECT_OK(
        trainer->add_hook(std::make_unique<ProfilerHook>(files_, options_of(schedule)), on_error));
    return trainer;
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    const auto entries = files_.list("out/profile");
    if (!entries.ok()) return names;
    for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
    return names;
  }
  // Returns the events with a duration of a trace.
  std::vector<json> events(const std::string& name) {
    std::vector<json> events;
    const auto text = read_file(files_, "out/profile/" + name);
    EXPECT_OK(text.status());
    if (!text.ok()) return events;
    const json trace = json::parse(*text);
    for (const json& event : trace["traceEvents"]) {
      if (event["ph"] == "X") events.push_back(event);
    }
    return events;
  }
  MemoryFileSystem files_;
};

TinyTrainerOptions steps(int64_t max_steps) {
  TinyTrainerOptions options;
  options.trainer.max_steps = max_steps;
  options.train = {.batches = 100, .batch_size = 4, .sparse = 1};
  return options;
}

bool is_annotation(const json& event) { return event["cat"] == "user_annotation"; }

double end_of(const json& event) { return event["ts"].get<double>() + event["dur"].get<double>(); }

// Returns the names of the annotations accepted by `keep`, in order.
std::vector<std::string> annotations(const std::vector<json>& events,
                                     const std::function<bool(const json&)>& keep) {
  std::vector<std::string> names;
  for (const json& event : events) {
    if (is_annotation(event) && keep(event)) names.push_back(event["name"]);
  }
  return names;
}

const json& event_of(const std::vector<json>& events, const std::string& name) {
  for (const json& event : events) {
    if (event["name"] == name) return event;
  }
  ADD_FAILURE() << "no event " << name;
  static const json none = {{"ts", 0.0}, {"dur", 0.0}, {"tid", 0}};
  return none;
}

// Returns the events inside another event, on the same thread.
std::vector<json> inside(const std::vector<json>& events, const json& outer) {
  std::vector<json> inside;
  for (const json& event : events) {
    if (event["tid"] == outer["tid"] && event["ts"] >= outer["ts"] &&
        end_of(event) <= end_of(outer) && event != outer) {
      inside.push_back(event);
    }
  }
  return inside;
}

std::vector<std::string> operators(const std::vector<json>& events) {
  std::vector<std::string> names;
  for (const json& event : events) {
    if (!is_annotation(event)) names.push_back(event["name"]);
  }
  return names;
}

[[maybe_unused]] const bool kProfilerHook = register_hook_conformance(
    "ProfilerHook", {.make =
                         [] {
                           static MemoryFileSystem files;
                           return std::make_unique<ProfilerHook>(
                               files,
                               options_of({.wait = 0, .warmup = 1, .active = 2, .repeat = 0}));
                         },
                     .one_per_process = true});

TEST_F(ProfilerHookTest, StepsAndOperatorsLieOnOneTimeLine) {
  ASSERT_OK(trainer({}, steps(8))->train().status());
  EXPECT_THAT(names(), ElementsAre("rank-0-steps-3-5.json"));
  const std::vector<json> trace = events("rank-0-steps-3-5.json");
  EXPECT_THAT(annotations(trace,
                          [](const json& event) {
                            return absl::StartsWith(event["name"].get<std::string>(), "step ");
                          }),
              ElementsAre("step 3", "step 4", "step 5"));
  for (const std::string step : {"step 3", "step 4", "step 5"}) {
    const std::vector<json> parts = inside(trace, event_of(trace, step));
    EXPECT_THAT(annotations(parts, [](const json&) { return true; }),
                ElementsAre("begin of the step", "forward", "backward", "update"));
    EXPECT_THAT(operators(inside(parts, event_of(parts, "forward"))),
                IsSupersetOf({"aten::addmm", "aten::binary_cross_entropy_with_logits"}))
        << step;
    EXPECT_THAT(operators(inside(parts, event_of(parts, "backward"))),
                Contains(HasSubstr("AddmmBackward0")));
    EXPECT_THAT(operators(inside(parts, event_of(parts, "forward"))),
                Not(Contains(HasSubstr("Backward0"))));
    EXPECT_THAT(operators(inside(parts, event_of(parts, "update"))), Not(IsEmpty()));
  }
}

TEST_F(ProfilerHookTest, MicroBatchesHaveTheirOwnPasses) {
  TinyTrainerOptions options = steps(1);
  options.trainer.micro_batches = 2;
  ASSERT_OK(trainer({.wait = 0, .warmup = 0, .active = 1}, options)->train().status());
  const std::vector<json> trace = events("rank-0-steps-1-1.json");
  EXPECT_THAT(
      annotations(inside(trace, event_of(trace, "step 1")), [](const json&) { return true; }),
      ElementsAre("begin of the step", "forward", "backward", "forward", "backward", "update"));
}

// Requests an evaluation after the first step.
class Asks : public Hook {
 public:
  absl::string_view name() const override { return "asks"; }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    if (context.phase() == Phase::kTrain && context.progress().step == 1) {
      context.requests().evaluate("eval");
    }
    return absl::OkStatus();
  }
};

TEST_F(ProfilerHookTest, WhatHappensBetweenSteps) {
  TinyTrainerOptions options = steps(2);
  options.trainer.report = {.every_steps = 1};
  const auto run = trainer({.wait = 0, .warmup = 0, .active = 2}, options);
  ASSERT_OK(run->add_hook(std::make_unique<Asks>()));
  ASSERT_OK(run->train().status());
  const std::vector<json> trace = events("rank-0-steps-1-2.json");
  const json& first = event_of(trace, "step 1");
  const json& second = event_of(trace, "step 2");
  EXPECT_THAT(annotations(trace,
                          [&](const json& event) {
                            return event["ts"] >= end_of(first) && end_of(event) <= second["ts"] &&
                                   event["name"] != "other hooks";
                          }),
              ElementsAre("report", "evaluate eval", "evaluation batch", "evaluation batch",
                          "wait for data"));
  EXPECT_THAT(annotations(inside(trace, event_of(trace, "evaluate eval")),
                          [](const json&) { return true; }),
              ElementsAre("evaluation batch", "evaluation batch"));
  EXPECT_THAT(operators(inside(trace, event_of(trace, "evaluation batch"))),
              Contains("aten::addmm"));
}

TEST_F(ProfilerHookTest, ALargeEvaluationLeavesItsFirstBatches) {
  TinyTrainerOptions options = steps(2);
  options.eval.batches = 20;
  const auto run = trainer({.wait = 0, .warmup = 0, .active = 2}, options);
  ASSERT_OK(run->add_hook(std::make_unique<Asks>()));
  ASSERT_OK(run->train().status());
  const std::vector<json> trace = events("rank-0-steps-1-2.json");
  EXPECT_THAT(annotations(inside(trace, event_of(trace, "evaluate eval")),
                          [](const json&) { return true; }),
              AllOf(Each("evaluation batch"), SizeIs(16)));
  EXPECT_THAT(operators(inside(trace, event_of(trace, "step 2"))), Contains("aten::addmm"));
}

TEST_F(ProfilerHookTest, AFileForEachCycle) {
  ASSERT_OK(
      trainer({.wait = 2, .warmup = 1, .active = 1, .repeat = 2}, steps(20))->train().status());
  EXPECT_THAT(names(), ElementsAre("rank-0-steps-4-4.json", "rank-0-steps-8-8.json"));
}

TEST_F(ProfilerHookTest, CyclesWithoutAGap) {
  ASSERT_OK(
      trainer({.wait = 0, .warmup = 0, .active = 2, .repeat = 0}, steps(5))->train().status());
  EXPECT_THAT(names(), ElementsAre("rank-0-steps-1-2.json", "rank-0-steps-3-4.json",
                                   "rank-0-steps-5-5.json"))
      << "the last one ended with the run";
}

TEST_F(ProfilerHookTest, ARunThatEndsInAWarmUpWritesNothing) {
  ASSERT_OK(trainer({}, steps(2))->train().status());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ProfilerHookTest, EvaluationAloneIsNotTraced) {
  const auto run = trainer({.wait = 0, .warmup = 0, .active = 1}, steps(2));
  ASSERT_OK(run->evaluate("eval").status());
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ProfilerHookTest, AnErrorInAStepLeavesTheStepsBefore) {
  TinyTrainerOptions options = steps(9);
  int64_t batches = 0;
  options.on_forward = [&batches](const Batch&) {
    return ++batches < 3 ? absl::OkStatus() : absl::InternalError("boom");
  };
  EXPECT_THAT(trainer({.wait = 0, .warmup = 0, .active = 5}, options)->train().status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("boom")));
  ASSERT_THAT(names(), ElementsAre("rank-0-steps-1-2.json"));
  const std::vector<json> trace = events("rank-0-steps-1-2.json");
  EXPECT_LT(event_of(trace, "step 2")["ts"], event_of(trace, "step 3")["ts"])
      << "the step that failed is in it too";
}

TEST_F(ProfilerHookTest, AFullDiskHarmsNoTraining) {
  files_.set_capacity(100);
  const auto run = trainer({.wait = 0, .warmup = 0, .active = 2}, steps(6), OnError::kWarn);
  const auto summary = run->train();
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->progress.step, 6);
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(ProfilerHookTest, ShapesAreRecordedWhereAskedFor) {
  ProfilerHookOptions options = options_of({.wait = 0, .warmup = 0, .active = 1});
  options.record_shapes = true;
  const auto run = tiny_trainer(steps(1));
  ASSERT_OK(run->add_hook(std::make_unique<ProfilerHook>(files_, options)));
  ASSERT_OK(run->train().status());
  const std::vector<json> trace = events("rank-0-steps-1-1.json");
  EXPECT_EQ(event_of(trace, "aten::addmm")["args"]["Input Dims"][1], (json{4, 2}));
}

TEST_F(ProfilerHookTest, WrongConfigurations) {
  EXPECT_OK(create(""));
  const std::pair<const char*, const char*> cases[] = {
      {"active: 0", "[millrace.profiler]: active is 0; must be 1 to 1152921504606846976"},
      {"skip_first: -1", "skip_first is -1; must be 0 to 1152921504606846976"},
      {"wait: 9000000000000000000", "wait is 9000000000000000000; must be"},
      {"directory: ''", "[millrace.profiler]: directory is \"\""},
  };
  for (const auto& [config, message] : cases) {
    EXPECT_THAT(create(config), StatusIs(kInvalid, HasSubstr(message))) << config;
  }
  EXPECT_THAT(create("active: 0 wait: -1"),
              StatusIs(kInvalid, AllOf(HasSubstr("active"), HasSubstr("wait"))))
      << "all mistakes at once";
}

// Runs in a separate process, since LibTorch reads the level once.
using ProfilerHookDeathTest = ProfilerHookTest;
TEST_F(ProfilerHookDeathTest, LibTorchsRecorderSaysNothing) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const bool traced =
            create("").ok() &&
            trainer({.wait = 0, .warmup = 0, .active = 1}, steps(1))->train().ok() &&
            names().size() == 1;
        std::exit(traced ? 0 : 1);
      },
      testing::ExitedWithCode(0), Not(HasSubstr("profiler_st")));
}

TEST_F(ProfilerHookTest, ErrorsAreSurvivedUnlessTheConfigurationSaysOtherwise) {
  HookConfig config;
  config.set_name("profiler");
  EXPECT_EQ(on_error_of(config), OnError::kWarn);
}

}  // namespace
}  // namespace millrace
