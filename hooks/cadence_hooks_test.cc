#include "hooks/cadence_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/fake_saver.h"
#include "tests/fakes/fake_windowed_dataset.h"
#include "tests/fakes/recording_hook.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

// Returns true if a reload was requested since the last call; serves the requests.
bool asked(FakeHookContext& context) {
  const bool reload = context.asked.take_common().has(Request::kReload);
  context.served = context.at;
  return reload;
}

// Windows: the trainers of the suite have no model bank, and no windows.
[[maybe_unused]] const bool kCheckpointLoadHook = register_hook_conformance(
    "CheckpointLoadHook",
    {.make = [] { return std::make_unique<CheckpointLoadHook>(Cadence{.every_windows = 1}); }});

TEST(CheckpointLoadHookTest, AsksEveryWindowAndEpochByDefault) {
  CheckpointLoadHook hook;
  FakeHookContext context;
  context.starting = true;
  ASSERT_OK(hook.start(context));
  context.starting = false;
  context.at.step = 1;
  ASSERT_OK(hook.after_step(context, {}));
  ASSERT_OK(hook.after_epoch(context));
  EXPECT_FALSE(asked(context));
  context.at.window = 1;
  ASSERT_OK(hook.after_window(context, {}));
  EXPECT_TRUE(asked(context));
  context.at.epoch = 1;
  ASSERT_OK(hook.after_epoch(context));
  EXPECT_TRUE(asked(context));
}

TEST(CheckpointLoadHookTest, AsksAtItsCadenceInTrainingAlone) {
  CheckpointLoadHook hook({.every_steps = 2, .every_epochs = 1, .at_start = true});
  FakeHookContext context;
  context.starting = true;
  ASSERT_OK(hook.start(context));
  EXPECT_TRUE(asked(context));
  context.starting = false;
  context.at.step = 1;
  ASSERT_OK(hook.after_step(context, {}));
  EXPECT_FALSE(asked(context));
  context.at.step = 2;
  context.phase_is = Phase::kEvaluate;
  ASSERT_OK(hook.after_step(context, {}));
  context.phase_is = Phase::kTrain;
  EXPECT_FALSE(context.asked.common().has(Request::kReload));
  ASSERT_OK(hook.after_step(context, {}));
  EXPECT_TRUE(asked(context));
  context.at.epoch = 1;
  ASSERT_OK(hook.after_epoch(context));
  EXPECT_TRUE(asked(context));
}

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Returns the positions of checkpoints in two epochs of three steps, one step of 10 s:
// "step/epoch/window".
std::vector<std::string> saved_at(Cadence cadence, bool windowed = false) {
  FakeClock clock;
  TinyTrainerOptions options;
  options.trainer.max_epochs = 2;
  options.trainer.report = {};
  options.trainer.save_at_end = false;
  options.train.batches = 3;
  options.clock = &clock;
  options.on_forward = [&clock](const Batch&) {
    clock.advance(absl::Seconds(10));
    return absl::OkStatus();
  };
  std::vector<std::string> saved;
  TrainerParts parts = tiny_parts(options);
  if (windowed) {
    parts.train_data = std::make_unique<FakeWindowedDataset>(
        options.train, std::vector<FakeWindow>{{.batches = 2}, {.batches = 1}});
  }
  parts.saver = std::make_unique<FakeSaver>(
      [&saved](const TrainState& state, const auto&) -> absl::StatusOr<CheckpointInfo> {
        const ProgressState& progress = state.shared.progress();
        saved.push_back(
            absl::StrCat(progress.step(), "/", progress.epoch(), "/", progress.window()));
        return CheckpointInfo{saved.back(), {}};
      });
  auto trainer = Trainer::create(options.trainer, std::move(parts));
  EXPECT_OK(trainer);
  EXPECT_OK((*trainer)->add_hook(std::make_unique<CheckpointSaveHook>(cadence)));
  EXPECT_OK((*trainer)->train());
  return saved;
}

[[maybe_unused]] const bool kCheckpointSaveHook = register_hook_conformance(
    "CheckpointSaveHook", {.make = [] { return std::make_unique<CheckpointSaveHook>(Cadence{}); }});

TEST(CheckpointSaveHookTest, SavesAtItsCadence) {
  EXPECT_THAT(saved_at({}), IsEmpty());
  EXPECT_THAT(saved_at({.every_steps = 2}), ElementsAre("2/0/0", "4/1/0", "6/1/0"));
  EXPECT_THAT(saved_at({.every_steps = 7}), IsEmpty());
  EXPECT_THAT(saved_at({.every_epochs = 1}), ElementsAre("3/1/0", "6/2/0"));
  EXPECT_THAT(saved_at({.every = absl::Seconds(25)}), ElementsAre("3/0/0", "5/1/0"));
  EXPECT_THAT(saved_at({.at_start = true}), ElementsAre("0/0/0"));
  EXPECT_THAT(saved_at({.at_end = true}), IsEmpty()) << "the trainer's own";
  EXPECT_THAT(saved_at({.every_windows = 1}, /*windowed=*/true), ElementsAre("2/0/1", "3/0/2"));
}

TEST(CheckpointSaveHookTest, OncePerPoint) {
  EXPECT_THAT(saved_at({.every_steps = 2, .every = absl::Seconds(20)}),
              ElementsAre("2/0/0", "4/1/0", "6/1/0"));
  // Two points: after the last step of an epoch, and after the epoch is closed.
  EXPECT_THAT(saved_at({.every_steps = 3, .every_epochs = 2}),
              ElementsAre("3/0/0", "6/1/0", "6/2/0"));
}

// Two epochs of three steps; a step takes 10 s.
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

// Records "STEP SET".
class NamedEvaluations : public Hook {
 public:
  explicit NamedEvaluations(std::vector<std::string>* lines) : lines_(*lines) {}
  absl::string_view name() const override { return "named_evaluations"; }
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override {
    lines_.push_back(absl::StrCat(context.progress().step, " ", result.set));
    return absl::OkStatus();
  }

 private:
  std::vector<std::string>& lines_;
};

std::vector<int64_t> evaluated_at(Cadence cadence) {
  SixSteps run(cadence);
  EXPECT_OK(run.trainer->train());
  return run.evaluated_at;
}

[[maybe_unused]] const bool kEvaluationHook = register_hook_conformance(
    "EvaluationHook", {.make = [] {
      return std::make_unique<EvaluationHook>(
          Cadence{.every_steps = 2, .every_epochs = 1, .at_start = true, .at_end = true});
    }});

[[maybe_unused]] const bool kEvaluationHookOfSets = register_hook_conformance(
    "EvaluationHookOfSets", {.make = [] {
      return std::make_unique<EvaluationHook>(
          std::vector<SetCadence>{{"eval", {.every_steps = 3, .at_end = true}}});
    }});

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
  // Evaluations take 20 s of the clock, after which the next would be due at once.
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

// Returns "STEP SET" of each evaluation in training with two sets.
std::vector<std::string> evaluations_of_two(std::vector<SetCadence> sets) {
  TinyTrainerOptions options;
  options.trainer.max_epochs = 2;
  options.trainer.report = {};
  options.train.batches = 3;
  TrainerParts parts = tiny_parts(options);
  parts.evaluation_sets.push_back({"big", std::make_unique<FakeDataset>(options.eval)});
  auto trainer = Trainer::create(options.trainer, std::move(parts));
  EXPECT_OK(trainer.status());
  EXPECT_OK((*trainer)->add_hook(std::make_unique<EvaluationHook>(std::move(sets))));
  std::vector<std::string> evaluations;
  EXPECT_OK((*trainer)->add_hook(std::make_unique<NamedEvaluations>(&evaluations)));
  EXPECT_OK((*trainer)->train());
  return evaluations;
}

TEST(EvaluationHookTest, SetsHaveCadencesOfTheirOwn) {
  EXPECT_THAT(evaluations_of_two({{"big", {.every_epochs = 1}}, {"eval", {.every_steps = 2}}}),
              ElementsAre("2 eval", "3 big", "4 eval", "6 eval", "6 big"))
      << "at one step in the order of the sets";
  EXPECT_THAT(evaluations_of_two({{"eval", {.at_start = true}}, {"big", {.at_end = true}}}),
              ElementsAre("0 eval", "6 big"));
  EXPECT_THAT(evaluations_of_two({{"eval", {.every_steps = 6, .every_epochs = 2, .at_end = true}},
                                  {"big", {.every_steps = 6}}}),
              ElementsAre("6 eval", "6 big"))
      << "each once";
}

// Returns the sets that a hook with this state requests after `step` with two cadences.
std::set<std::string> asked_after(const HookState& state, int64_t step) {
  EvaluationHook hook({{"big", {.every_steps = 4}}, {"eval", {.every_steps = 2}}});
  EXPECT_OK(hook.load_state({&state, 1}));
  FakeHookContext context;
  EXPECT_OK(hook.start(context));
  context.at.step = step;
  EXPECT_OK(hook.after_step(context, {}));
  return context.asked.take_common().evaluation_sets();
}

TEST(EvaluationHookTest, TheStateSaysWhichSetsWereAskedFor) {
  EvaluationHook hook({{"big", {.every_steps = 4}}, {"eval", {.every_steps = 2}}});
  FakeHookContext context;
  EXPECT_OK(hook.start(context));
  context.at.step = 2;
  context.served.step = 1;
  EXPECT_OK(hook.after_step(context, {}));
  HookState state;
  EXPECT_OK(hook.save_state(state));
  EXPECT_EQ(state, (HookState{2, "2 eval"}));
  EXPECT_THAT(asked_after(state, 2), IsEmpty());
  EXPECT_THAT(asked_after(state, 4), ElementsAre("big", "eval"));
  EXPECT_THAT(asked_after({2, "4 big\n2 eval"}, 4), ElementsAre("eval"));
  EXPECT_THAT(asked_after({1, "4"}, 4), IsEmpty()) << "all sets, of a run with one cadence";
}

TEST(EvaluationHookTest, DamagedStatesAreRefused) {
  EvaluationHook hook(Cadence{.every_steps = 1});
  for (const HookState& state :
       {HookState{3, "4"}, HookState{1, "x"}, HookState{1, "-1"}, HookState{1, "4 eval"},
        HookState{2, "4 eval\n5 eval"}, HookState{2, "4 eval\n"}}) {
    EXPECT_THAT(hook.load_state({&state, 1}), StatusIs(absl::StatusCode::kDataLoss))
        << state.version << " " << state.bytes;
  }
}

TEST(EvaluationHookTest, AtStartIsBeforeTheFirstEpoch) {
  SixSteps run({.at_start = true});
  ASSERT_OK(run.trainer->train());
  EXPECT_EQ(run.events[0], "start");
  EXPECT_EQ(run.events[1], "eval:before_step");
  const auto done = std::find(run.events.begin(), run.events.end(), "after_evaluate");
  EXPECT_EQ(*(done + 1), "before_epoch");
}

TEST(EvaluationHookTest, AResumedRunHasNoStart) {
  for (const int64_t step : {0, 4}) {
    EvaluationHook hook(Cadence{.every_steps = 3, .at_start = true});
    FakeHookContext context;
    context.starting = true;
    context.at.step = context.served.step = step;
    ASSERT_OK(hook.start(context));
    EXPECT_EQ(context.asked.take_common().evaluates_all(), step == 0) << step;
  }
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
