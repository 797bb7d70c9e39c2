#include "framework/loop/schedule_monitor.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "optim/dense/optimizer_schedule.h"
#include "proto/schedule_monitor_state.pb.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::HasSubstr;

std::unique_ptr<Schedule> schedule_of(const std::string& plateau) {
  ScheduleConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "reduce_on_plateau { factor: 0.5 patience: 0 " + plateau + " }", &config));
  auto schedule = create_optimizer_schedule(config, /*learning_rate=*/1, {});
  EXPECT_OK(schedule.status());
  return *std::move(schedule);
}

// A hook that owns its schedules.
class OwningMonitor : public ScheduleMonitor {
 public:
  explicit OwningMonitor(std::vector<std::unique_ptr<Schedule>> schedules)
      : ScheduleMonitor(named(schedules)), schedules_(std::move(schedules)) {}

  double rate(size_t index) const { return schedules_[index]->rate_at(0); }

 private:
  static std::map<std::string, Schedule*> named(
      const std::vector<std::unique_ptr<Schedule>>& schedules) {
    std::map<std::string, Schedule*> result;
    for (size_t i = 0; i < schedules.size(); ++i) {
      result[dense_rate_name(i)] = schedules[i].get();
    }
    return result;
  }

  std::vector<std::unique_ptr<Schedule>> schedules_;
};

std::unique_ptr<OwningMonitor> monitor_of(const std::vector<std::string>& plateaus) {
  std::vector<std::unique_ptr<Schedule>> schedules;
  for (const std::string& plateau : plateaus) schedules.push_back(schedule_of(plateau));
  return std::make_unique<OwningMonitor>(std::move(schedules));
}

EvaluationResult evaluation(double loss, int64_t step) {
  EvaluationResult result;
  result.set = "eval";
  result.progress.step = step;
  result.metrics = {{"loss", loss}};
  return result;
}

HookState saved(const Hook& hook) {
  HookState state;
  EXPECT_OK(hook.save_state(state));
  return state;
}

TEST(ScheduleMonitorTest, HasTheNameThatModelBanksKnow) {
  EXPECT_EQ(ScheduleMonitor::kName, kScheduleMonitor);
}

[[maybe_unused]] const bool kScheduleMonitorOfEvaluation = register_hook_conformance(
    "ScheduleMonitorOfEvaluation",
    {.make = [] { return monitor_of({"monitor: 'eval/loss'"}); }, .changes_result = true});

[[maybe_unused]] const bool kScheduleMonitorOfTraining = register_hook_conformance(
    "ScheduleMonitorOfTraining",
    {.make = [] { return monitor_of({"monitor: 'train/loss'"}); }, .changes_result = true});

TEST(ScheduleMonitorTest, EachScheduleObservesItsMetric) {
  const auto hook = monitor_of({"monitor: 'eval/loss'", "monitor: 'train/loss'"});
  FakeHookContext context;
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 1)));
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.6, 2)));
  EXPECT_THAT(hook->rate(0), DoubleEq(0.5));
  EXPECT_THAT(hook->rate(1), DoubleEq(1));
  Report report;
  report.metrics = {{"loss", 0.5}};
  for (report.progress.step = 3; report.progress.step < 6; ++report.progress.step) {
    ASSERT_OK(hook->after_report(context, report));
  }
  EXPECT_THAT(hook->rate(0), DoubleEq(0.5));
  EXPECT_THAT(hook->rate(1), DoubleEq(0.25));
}

TEST(ScheduleMonitorTest, CountsOneValueOfAStep) {
  const auto hook = monitor_of({"monitor: 'eval/loss'"});
  FakeHookContext context;
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 1)));
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 1)));
  EXPECT_THAT(hook->rate(0), DoubleEq(1));
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 2)));
  EXPECT_THAT(hook->rate(0), DoubleEq(0.5));
}

TEST(ScheduleMonitorTest, EvaluationsOutsideOfTrainingDoNotCount) {
  const auto hook = monitor_of({"monitor: 'eval/loss'"});
  FakeHookContext context;
  context.phase_is = Phase::kEvaluate;
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 1)));
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 2)));
  EXPECT_THAT(hook->rate(0), DoubleEq(1));
}

TEST(ScheduleMonitorTest, NamesOptimizerAndNearestMetric) {
  const auto hook = monitor_of({"monitor: 'eval/los'"});
  FakeHookContext context;
  EXPECT_THAT(hook->after_evaluate(context, evaluation(0.5, 1)),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("optimizer dense"), HasSubstr("\"loss\""))));
}

TEST(ScheduleMonitorTest, ContinuesWithTheStateThatWasSaved) {
  const auto hook = monitor_of({"monitor: 'eval/loss'"});
  FakeHookContext context;
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 1)));
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.6, 2)));
  const auto other = monitor_of({"monitor: 'eval/loss'"});
  ASSERT_OK(other->load_state({saved(*hook)}));
  EXPECT_THAT(other->rate(0), DoubleEq(0.5));
  ASSERT_OK(other->after_evaluate(context, evaluation(0.6, 2)));
  EXPECT_THAT(other->rate(0), DoubleEq(0.5)) << "the value of this step was counted";
  ASSERT_OK(other->after_evaluate(context, evaluation(0.55, 3)));
  EXPECT_THAT(other->rate(0), DoubleEq(0.25)) << "the best value was 0.5";
  // The schedule restarts without a state.
  ASSERT_OK(other->load_state({}));
  EXPECT_THAT(other->rate(0), DoubleEq(1));
}

TEST(ScheduleMonitorTest, TheStepOfAnotherJobHidesNoValue) {
  const auto hook = monitor_of({"monitor: 'eval/loss'"});
  FakeHookContext context;
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 100)));
  ASSERT_OK(hook->start(context));  // at step 0
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.6, 100)));
  EXPECT_THAT(hook->rate(0), DoubleEq(0.5));
}

TEST(ScheduleMonitorTest, DropsObservationsOfAnotherMetric) {
  const auto hook = monitor_of({"monitor: 'train/loss'", "monitor: 'eval/loss'"});
  FakeHookContext context;
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 1)));
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.6, 2)));
  const auto other = monitor_of({"monitor: 'train/loss'", "monitor: 'eval/auc'"});
  ASSERT_OK(other->load_state({saved(*hook)}));
  EXPECT_THAT(other->rate(1), DoubleEq(1));
}

TEST(ScheduleMonitorTest, ARefusedStateChangesNothing) {
  const auto hook = monitor_of({"monitor: 'eval/loss'", "monitor: 'eval/loss'"});
  FakeHookContext context;
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.5, 1)));
  ASSERT_OK(hook->after_evaluate(context, evaluation(0.6, 2)));
  const HookState before = saved(*hook);
  // The second entry has a factor out of range.
  ScheduleMonitorState broken;
  ASSERT_TRUE(broken.ParseFromString(before.bytes));
  broken.mutable_entry(0)->mutable_state()->mutable_reduce_on_plateau()->set_factor(0.25);
  broken.mutable_entry(1)->mutable_state()->mutable_reduce_on_plateau()->set_factor(7);
  HookState wrong = before;
  wrong.bytes = broken.SerializeAsString();
  EXPECT_THAT(hook->load_state({wrong}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("optimizer dense1")));
  EXPECT_EQ(saved(*hook).bytes, before.bytes);
  EXPECT_THAT(hook->rate(0), DoubleEq(0.5));
  wrong.bytes = "nonsense";
  EXPECT_THAT(hook->load_state({wrong}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(hook->load_state({before, wrong}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
