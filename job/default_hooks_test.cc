#include "job/default_hooks.h"

#include <sstream>

#include "base/status_matchers.h"
#include "io/files/uri_file_system.h"
#include "proto/config_reader.h"
#include "tests/fakes/fake_hook_context.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::StartsWith;

std::vector<std::string> made_of(const DefaultHookParts& parts) {
  std::vector<std::string> names;
  for (const DefaultHook& hook : default_hooks()) {
    const std::unique_ptr<Hook> made = hook.make(parts);
    if (made == nullptr) continue;
    EXPECT_EQ(made->name(), hook.name);
    names.push_back(hook.name);
  }
  return names;
}

TEST(DefaultHooksTest, EachIsMadeUnderItsNameWhereTheJobHasUseForIt) {
  const JobConfig config;
  DefaultHookParts parts{config, UriFileSystem::process(), Clock::real()};
  EXPECT_THAT(made_of(parts), ElementsAre("output", "metric_report", "checkpoint_save",
                                          "signal_stop", "non_finite_guard"));
  std::ostringstream log;
  parts.log = &log;
  parts.has_evaluation_sets = true;
  parts.has_dynamic_sources = true;
  EXPECT_THAT(made_of(parts),
              ElementsAre("output", "logger", "metric_report", "evaluation", "checkpoint_save",
                          "checkpoint_load", "signal_stop", "non_finite_guard"));
  std::vector<NamedSink> sinks(1);
  parts.sinks = &sinks;
  EXPECT_THAT(made_of(parts), Contains("sinks"));
}

TEST(DefaultHooksTest, EvaluationsOfSetsWithACadenceOfTheirOwn) {
  JobConfig config;
  ASSERT_OK(
      parse_text("train { eval_data {} eval_data { name: 'slow' } "
                 "eval_data { name: 'late' data { windows {} } } } "
                 "run { evaluation { when { every_steps: 2 } "
                 "set { name: 'slow' when { every_steps: 4 at_start: true } } } }",
                 "test", &config));
  DefaultHookParts parts{config, UriFileSystem::process(), Clock::real()};
  parts.has_evaluation_sets = true;
  for (const DefaultHook& hook : default_hooks()) {
    if (hook.name != "evaluation") continue;
    const std::unique_ptr<Hook> made = hook.make(parts);
    FakeHookContext context;
    context.starting = true;
    ASSERT_OK(made->start(context));
    EXPECT_THAT(context.asked.take_common().evaluation_sets(), ElementsAre("slow"));
  }
}

TEST(DefaultHooksTest, EachSwitchIsAnAssignmentThatExists) {
  for (const DefaultHook& hook : default_hooks()) {
    if (hook.switch_off.empty()) continue;
    JobConfig config;
    EXPECT_OK(apply_override(hook.switch_off, &config)) << hook.name;
    EXPECT_THAT(hook.switch_off, StartsWith(hook.field + ".")) << hook.name;
  }
}

TEST(DefaultHooksTest, WhatErrorsLeadTo) {
  JobConfig config;
  for (const DefaultHook& hook : default_hooks()) {
    const bool only_writes =
        hook.name == "logger" || hook.name == "metric_report" || hook.name == "sinks";
    EXPECT_EQ(hook.on_error(config), only_writes ? OnError::kWarn : OnError::kFail) << hook.name;
  }
  config.mutable_run()->mutable_log()->set_on_error(HookConfig::FAIL);
  config.mutable_run()->mutable_report()->set_on_error(HookConfig::DISABLE);
  for (const DefaultHook& hook : default_hooks()) {
    if (hook.name == "sinks") continue;
    const bool disables = hook.name == "metric_report";
    EXPECT_EQ(hook.on_error(config), disables ? OnError::kDisable : OnError::kFail) << hook.name;
  }
}

}  // namespace
}  // namespace millrace
