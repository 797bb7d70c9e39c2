#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "examples/own_job/own_job.pb.h"
#include "hook/hook_registry.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Hook> target_metric_hook(const std::string& metric, double at_least) {
  HookConfig config;
  config.set_name("target_metric");
  TargetMetricConfig& own = *config.MutableExtension(target_metric);
  own.set_metric(metric);
  own.set_at_least(at_least);
  return create_hook(config, {FileSystem::local(), Clock::real(), "", {}}).value();
}

[[maybe_unused]] const bool kTargetMetricHook = register_hook_conformance(
    "TargetMetricHook",
    {.make = [] { return target_metric_hook("loss", 1e9); }, .changes_result = true});

TEST(TargetMetricHookTest, StopsAtTheFirstReportThatReachesIt) {
  const std::unique_ptr<Hook> hook = target_metric_hook("auc", 0.75);
  FakeHookContext context;
  Report report;
  report.metrics["auc"] = 0.74;
  EXPECT_OK(hook->after_report(context, report));
  EXPECT_TRUE(context.asked.take_common().empty());
  report.metrics["auc"] = 0.75;
  EXPECT_OK(hook->after_report(context, report));
  EXPECT_EQ(context.asked.take_common().first(Request::kStop)->detail, "auc reached");
}

TEST(TargetMetricHookTest, AnUnknownMetricEndsTheRunByName) {
  TinyTrainerOptions options;
  options.trainer.report = {.every_steps = 1};
  const std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  EXPECT_OK(trainer->add_hook(target_metric_hook("aux", 0.5)));
  const absl::Status status = trainer->train().status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("target_metric"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("no metric aux"));
}

}  // namespace
}  // namespace millrace
