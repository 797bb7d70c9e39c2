#include "hooks/evaluation_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two epochs of three steps; one step takes 10 s.
struct SixSteps {
  FakeClock clock;
  TinyTrainerOptions options;
  std::vector<int64_t> evaluated_at;  // steps
  std::vector<std::string> events;
  std::unique_ptr<Trainer> trainer;

  explicit SixSteps(Cadence cadence) {
    options.trainer.max_epochs = 2;
    options.trainer.report = {};
    options.train.batches = 3;
    options.clock = &clock;
    options.on_forward = [this](const Batch&) {
      clock.advance(absl::Seconds(10));
      return absl::OkStatus();
    };
    trainer = tiny_trainer(options);
    EXPECT_OK(trainer->add_hook(std::make_unique<EvaluationHook>(cadence)));
    EXPECT_OK(trainer->add_hook(std::make_unique<RecordingHook>(
        &events, [this](HookContext& context, absl::string_view event) {
          if (event == "after_evaluate") evaluated_at.push_back(context.progress().step);
          return absl::OkStatus();
        })));
  }
};

std::vector<int64_t> evaluated_at(Cadence cadence) {
  SixSteps run(cadence);
  EXPECT_OK(run.trainer->train());
  return run.evaluated_at;
}

TEST(EvaluationHookTest, Conformance) {
  check_hook({.make = [] {
    return std::make_unique<EvaluationHook>(
        Cadence{.every_steps = 2, .every_epochs = 1, .at_start = true, .at_end = true});
  }});
}

TEST(EvaluationHookTest, EvaluatesAtItsCadence) {
  EXPECT_THAT(evaluated_at({}), IsEmpty());
  EXPECT_THAT(evaluated_at({.every_steps = 2}), ElementsAre(2, 4, 6));
  EXPECT_THAT(evaluated_at({.every_steps = 7}), IsEmpty());
  EXPECT_THAT(evaluated_at({.every_epochs = 1}), ElementsAre(3, 6));
  EXPECT_THAT(evaluated_at({.every_epochs = 2}), ElementsAre(6));
  EXPECT_THAT(evaluated_at({.at_start = true}), ElementsAre(0));
  EXPECT_THAT(evaluated_at({.at_end = true}), ElementsAre(6));
}

TEST(EvaluationHookTest, TimeSpentEvaluatingDoesNotCount) {
  // Evaluations take 20 s of the clock, which would come due again at once.
  EXPECT_THAT(evaluated_at({.every = absl::Seconds(20)}), ElementsAre(2, 4, 6));
}

TEST(EvaluationHookTest, WhatFallsTogetherIsDoneOnce) {
  EXPECT_THAT(evaluated_at({.every_steps = 3, .every_epochs = 1, .at_end = true}),
              ElementsAre(3, 6));
  EXPECT_THAT(evaluated_at({.every_steps = 1, .every = absl::Seconds(10), .at_start = true}),
              ElementsAre(0, 1, 2, 3, 4, 5, 6));
  SixSteps run({.every_epochs = 1, .at_end = true});
  ASSERT_OK(run.trainer->train_and_evaluate());
  EXPECT_THAT(run.evaluated_at, ElementsAre(3, 6));
}

TEST(EvaluationHookTest, AtStartIsBeforeTheFirstEpoch) {
  SixSteps run({.at_start = true});
  ASSERT_OK(run.trainer->train());
  EXPECT_EQ(run.events[0], "start");
  EXPECT_EQ(run.events[1], "eval:before_step");
  const auto done = std::find(run.events.begin(), run.events.end(), "after_evaluate");
  EXPECT_EQ(*(done + 1), "before_epoch");
}

TEST(EvaluationHookTest, AtEndIsBeforeEnd) {
  SixSteps run({.at_end = true});
  ASSERT_OK(run.trainer->train());
  EXPECT_EQ(run.events.back(), "end");
  EXPECT_EQ(run.events[run.events.size() - 2], "after_evaluate");
}

TEST(EvaluationHookTest, NoEvaluationAtEndOfAFailedRun) {
  SixSteps run({.at_end = true});
  EXPECT_OK(run.trainer->add_hook(std::make_unique<RecordingHook>(
      &run.events,
      [](HookContext& context, absl::string_view event) {
        return event == "after_step" && context.progress().step == 2 ? absl::AbortedError("planted")
                                                                     : absl::OkStatus();
      },
      "failing")));
  EXPECT_THAT(run.trainer->train(), StatusIs(absl::StatusCode::kAborted));
  EXPECT_THAT(run.evaluated_at, IsEmpty());
}

TEST(EvaluationHookTest, EvaluateAloneIsNotMultiplied) {
  SixSteps run({.every_steps = 1, .at_start = true, .at_end = true});
  ASSERT_OK(run.trainer->evaluate("eval"));
  int evaluations = 0;
  for (const std::string& event : run.events) evaluations += event == "eval:after_evaluate";
  EXPECT_EQ(evaluations, 1);
  EXPECT_THAT(run.evaluated_at, IsEmpty());
}

}  // namespace
}  // namespace millrace
