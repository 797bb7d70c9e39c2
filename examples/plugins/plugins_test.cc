// Tests the example plugins in training, from the configuration of a hook to its effect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/status_matchers.h"
#include "hook/hook_registry.h"
#include "plugin/configured_plugins.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/tiny_trainer.h"
#include "tests/plugins/plugin_folder.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class PluginsTest : public testing::Test {
 protected:
  // Adds a hook to train.hooks of the configuration.
  HookConfig& add(const std::string& hook, const std::string& config = "") {
    HookConfig& added = *config_.mutable_train()->add_hooks();
    added.mutable_plugin()->set_path(
        folder_.copy(hook + ".so", "examples/plugins/" + hook + ".so"));
    added.mutable_plugin()->set_hook(hook);
    added.mutable_plugin()->set_config(config);
    return added;
  }

  absl::StatusOr<ConfiguredPluginHook> create() {
    config_.mutable_run()->mutable_plugins()->add_directory(folder_.path());
    const absl::Status resolved = resolve_plugins(config_);
    if (!resolved.ok()) return resolved;
    return create_configured_plugin_hook(config_.train().hooks(0), config_.run().plugins(),
                                         {FileSystem::local(), Clock::real(), "", {}});
  }

  absl::StatusOr<Summary> train() {
    absl::StatusOr<ConfiguredPluginHook> made = create();
    if (!made.ok()) return made.status();
    TinyTrainerOptions options;
    options.train.batches = 20;
    options.trainer.report = {.every_steps = 5};
    trainer_ = tiny_trainer(options);
    EXPECT_OK(trainer_->add_hook(std::move(made->hook), made->on_error));
    return trainer_->train();
  }

  PluginFolder folder_;
  JobConfig config_;
  std::unique_ptr<Trainer> trainer_;
};

TEST_F(PluginsTest, AHookWithoutOptionsTrains) {
  add("ids_per_example");
  const absl::StatusOr<Summary> summary = train();
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->hooks.at("ids_per_example").errors, 0);
  EXPECT_EQ(summary->hooks.at("ids_per_example").events.at("after_data").calls, 20);
}

TEST_F(PluginsTest, AHookReadsItsOwnMessage) {
  add("calibration_guard", "every_steps: 2 max_error: 1e-9 patience: 3").set_name("guard");
  const absl::StatusOr<Summary> summary = train();
  ASSERT_OK(summary.status());
  EXPECT_EQ(summary->progress.step, 6);
  EXPECT_THAT(summary->stop_reason, HasSubstr("off the labels"));
  EXPECT_EQ(summary->hooks.count("guard"), 1);
}

// protobuf ends a process that registers a file twice.
TEST_F(PluginsTest, MessagesThatTheProcessHasAlreadyAreRefused) {
  HookConfig& hook = add("calibration_guard");
  ASSERT_OK(create().status());
  const std::string bytes = read_runfile("examples/plugins/calibration_guard.so");
  hook.mutable_plugin()->set_path(folder_.write("other.so", bytes + "another build"));
  hook.mutable_plugin()->clear_sha256();
  EXPECT_THAT(std::string(create().status().message()),
              HasSubstr("it brings messages of examples/plugins/calibration_guard.proto"));
}

TEST_F(PluginsTest, OptionsOutOfRangeAreErrors) {
  add("calibration_guard", "every_steps: 0");
  EXPECT_THAT(
      std::string(create().status().message()),
      HasSubstr("creating hook \"calibration_guard\": plugin.config: every_steps is 0; must be "
                "at least 1"));
}

// Tests the shortest training with state: the saved state is restored.
TEST_F(PluginsTest, StateComesBack) {
  add("calibration_guard");
  ASSERT_OK_AND_ASSIGN(const ConfiguredPluginHook made, create());
  HookState state;
  ASSERT_OK(made.hook->save_state(state));
  EXPECT_EQ(state, (HookState{1, "0"}));
  EXPECT_OK(made.hook->load_state({state}));
  EXPECT_THAT(made.hook->load_state({HookState{2, "0"}}), StatusIs(absl::StatusCode::kDataLoss));
}

// Returns the hook of an example plugin, in a separate folder that exists until the test ends.
std::unique_ptr<Hook> create_example(const std::string& hook) {
  static const PluginFolder folder;
  JobConfig config;
  PluginConfig& plugin = *config.mutable_train()->add_hooks()->mutable_plugin();
  plugin.set_path(folder.copy(hook + ".so", "examples/plugins/" + hook + ".so"));
  plugin.set_hook(hook);
  config.mutable_run()->mutable_plugins()->add_directory(folder.path());
  EXPECT_OK(resolve_plugins(config));
  absl::StatusOr<ConfiguredPluginHook> made =
      create_configured_plugin_hook(config.train().hooks(0), config.run().plugins(),
                                    {FileSystem::local(), Clock::real(), "", {}});
  EXPECT_OK(made.status());
  return made.ok() ? std::move(made->hook) : nullptr;
}

// A hook of a plugin keeps the promises of hooks, like a linked hook.
[[maybe_unused]] const bool kIdsPerExample = register_hook_conformance(
    "IdsPerExamplePlugin", {.make = [] { return create_example("ids_per_example"); }});
[[maybe_unused]] const bool kCalibrationGuard = register_hook_conformance(
    "CalibrationGuardPlugin", {.make = [] { return create_example("calibration_guard"); }});

}  // namespace
}  // namespace millrace
