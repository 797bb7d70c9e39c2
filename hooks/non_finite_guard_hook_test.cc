#include "hooks/non_finite_guard_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

NonFiniteConfig policy(NonFiniteConfig::Policy policy, int64_t max_in_a_row = 10) {
  NonFiniteConfig config;
  config.set_policy(policy);
  config.set_max_in_a_row(max_in_a_row);
  return config;
}

StepResult refused() {
  StepResult result;
  result.refused = "the loss";
  return result;
}

StepResult applied() {
  StepResult result;
  result.applied = true;
  return result;
}

[[maybe_unused]] const bool kNonFiniteGuardHook = register_hook_conformance(
    "NonFiniteGuardHook",
    {.make = [] { return std::make_unique<NonFiniteGuardHook>(policy(NonFiniteConfig::FAIL)); }});

[[maybe_unused]] const bool kNonFiniteGuardHookThatSkips = register_hook_conformance(
    "NonFiniteGuardHookThatSkips", {.make = [] {
      return std::make_unique<NonFiniteGuardHook>(policy(NonFiniteConfig::SKIP, 1));
    }});

TEST(NonFiniteGuardHookTest, FailEndsTheRunAtTheFirstRefusedStep) {
  TinyTrainerOptions options;
  options.train.nan_at = 2;
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  ASSERT_OK(trainer->add_hook(std::make_unique<NonFiniteGuardHook>(policy(NonFiniteConfig::FAIL))));
  EXPECT_THAT(
      trainer->train(),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("hook non_finite_guard in after_step: the loss was"),
                     HasSubstr("the step after step 2"), HasSubstr("train.non_finite.policy"))));
  EXPECT_EQ(trainer->progress().step, 2);
  EXPECT_EQ(trainer->progress().skipped_steps, 1);
  EXPECT_EQ(trainer->summary().outcome, Outcome::kFailed);
}

TEST(NonFiniteGuardHookTest, SkipGoesOnAndCounts) {
  TinyTrainerOptions options;
  options.train.nan_at = 1;
  options.trainer.max_epochs = 3;  // one refused step in each
  std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  ASSERT_OK(
      trainer->add_hook(std::make_unique<NonFiniteGuardHook>(policy(NonFiniteConfig::SKIP, 1))));
  ASSERT_OK_AND_ASSIGN(const Summary summary, trainer->train());
  EXPECT_EQ(summary.progress.step, 9);
  EXPECT_EQ(summary.progress.skipped_steps, 3);
  EXPECT_EQ(summary.progress.skipped_examples, 24);
}

TEST(NonFiniteGuardHookTest, SkipEndsTheRunAfterTooManyInARow) {
  FakeHookContext context;
  NonFiniteGuardHook hook(policy(NonFiniteConfig::SKIP, 2));
  EXPECT_OK(hook.after_step(context, refused()));
  EXPECT_OK(hook.after_step(context, refused()));
  EXPECT_OK(hook.after_step(context, applied()));
  EXPECT_OK(hook.after_step(context, refused()));
  EXPECT_OK(hook.after_step(context, refused()));
  context.at.step = 41;
  EXPECT_THAT(
      hook.after_step(context, refused()),
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("the loss was"), HasSubstr("after step 41"),
                     HasSubstr("3 such steps in a row, train.non_finite.max_in_a_row is 2"),
                     HasSubstr("--accept_changes"), HasSubstr("remove the newest checkpoint"))));
}

TEST(NonFiniteGuardHookTest, EvaluationDoesNotBreakARow) {
  FakeHookContext context;
  NonFiniteGuardHook hook(policy(NonFiniteConfig::SKIP, 1));
  EXPECT_OK(hook.after_step(context, refused()));
  context.phase_is = Phase::kEvaluate;
  EXPECT_OK(hook.after_step(context, applied()));
  context.phase_is = Phase::kTrain;
  EXPECT_FALSE(hook.after_step(context, refused()).ok());
}

TEST(NonFiniteGuardHookTest, ARowGoesOnAfterAResume) {
  FakeHookContext context;
  NonFiniteGuardHook before(policy(NonFiniteConfig::SKIP, 2));
  EXPECT_OK(before.after_step(context, refused()));
  EXPECT_OK(before.after_step(context, refused()));
  HookState state;
  ASSERT_OK(before.save_state(state));
  EXPECT_EQ(state.version, 1);

  NonFiniteGuardHook after(policy(NonFiniteConfig::SKIP, 2));
  const HookState both[] = {state, state};
  ASSERT_OK(after.load_state(both));
  EXPECT_FALSE(after.after_step(context, refused()).ok());
}

TEST(NonFiniteGuardHookTest, RefusesDamagedStates) {
  NonFiniteGuardHook hook(policy(NonFiniteConfig::SKIP));
  for (const HookState& state : {HookState{2, "1"}, HookState{0, "1"}, HookState{1, ""},
                                 HookState{1, "-1"}, HookState{1, "many"}}) {
    EXPECT_THAT(hook.load_state({&state, 1}), StatusIs(absl::StatusCode::kInvalidArgument))
        << state.version << " " << state.bytes;
  }
  const HookState ranks[] = {{1, "1"}, {1, "2"}};
  EXPECT_THAT(hook.load_state(ranks), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
