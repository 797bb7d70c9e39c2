#include "hooks/checkpoint_load_hook.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/status_matchers.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"

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

}  // namespace
}  // namespace millrace
