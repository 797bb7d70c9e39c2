#include "hooks/early_stopping_hook.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "distributed/thread_collectives.h"
#include "tests/conformance/hook_conformance.h"
#include "tests/fakes/fake_hook_context.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

EarlyStoppingConfig config_of(const std::string& text) {
  EarlyStoppingConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

std::unique_ptr<EarlyStoppingHook> hook_of(const std::string& text) {
  return std::make_unique<EarlyStoppingHook>(config_of(text));
}

HookState saved(const Hook& hook) {
  HookState state;
  EXPECT_OK(hook.save_state(state));
  return state;
}

// Returns the reason of a stop requested since the last call; "": none.
std::string stop_reason(FakeHookContext& context) {
  const RequestSet asked = context.asked.take_common();
  const Request* stop = asked.first(Request::kStop);
  return stop == nullptr ? "" : stop->detail;
}

// Returns the reason after an evaluation of "eval" with `value` as auc and loss.
std::string after(EarlyStoppingHook& hook, double value, int64_t step) {
  FakeHookContext context;
  EvaluationResult result;
  result.set = "eval";
  result.progress.step = step;
  result.metrics = {{"auc", value}, {"loss", value}, {"mean", value}};
  EXPECT_OK(hook.after_evaluate(context, result));
  return stop_reason(context);
}

// Returns the step of the value after which the hook of this configuration stops, where value i
// belongs to step 10 i; 0: no stop.
int64_t stop_step(const std::string& text, const std::vector<double>& values) {
  const std::unique_ptr<EarlyStoppingHook> hook = hook_of(text);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto step = static_cast<int64_t>(10 * (i + 1));
    if (!after(*hook, values[i], step).empty()) return step;
  }
  return 0;
}

[[maybe_unused]] const bool kEarlyStoppingHookOfEvaluation = register_hook_conformance(
    "EarlyStoppingHookOfEvaluation",
    {.make = [] { return hook_of("monitor: 'eval/loss' patience: 1"); }, .changes_result = true});

[[maybe_unused]] const bool kEarlyStoppingHookOfTraining = register_hook_conformance(
    "EarlyStoppingHookOfTraining",
    {.make = [] { return hook_of("monitor: 'train/loss' patience: 1 min_change: 9"); },
     .changes_result = true});

TEST(EarlyStoppingHookTest, StopsAfterValuesInARowWithoutImprovement) {
  EXPECT_EQ(stop_step("monitor: 'eval/auc'", {0.5, 0.6, 0.6, 0.55, 0.6, 0.7}), 50);
  EXPECT_EQ(stop_step("monitor: 'eval/auc'", {0.5, 0.6, 0.6, 0.55, 0.61, 0.6, 0.6}), 0);
  EXPECT_EQ(stop_step("monitor: 'eval/auc' patience: 1", {0.5, 0.6, 0.6}), 30);
  EXPECT_EQ(stop_step("monitor: 'eval/loss' patience: 2", {0.6, 0.5, 0.55, 0.51}), 40);
  EXPECT_EQ(stop_step("monitor: 'eval/mean' mode: MIN patience: 2", {0.6, 0.5, 0.4, 0.3}), 0);
}

TEST(EarlyStoppingHookTest, AnImprovementIsLargerThanMinChange) {
  const std::string text = "monitor: 'eval/auc' patience: 2 min_change: 0.25";
  EXPECT_EQ(stop_step(text, {0.25, 0.375, 0.5}), 30);  // too little above the best value
  EXPECT_EQ(stop_step(text, {0.25, 0.375, 0.625, 0.75, 0.875}), 50);
}

TEST(EarlyStoppingHookTest, TheWarmupIsIgnored) {
  const std::string text = "monitor: 'eval/auc' patience: 2 warmup: 2";
  EXPECT_EQ(stop_step(text, {0.9, kNan, 0.5, 0.6, 0.6}), 0);
  EXPECT_EQ(stop_step(text, {0.9, kNan, 0.5, 0.5, 0.5}), 50);
}

TEST(EarlyStoppingHookTest, WhatIsNotANumber) {
  const std::unique_ptr<EarlyStoppingHook> hook = hook_of("monitor: 'eval/auc'");
  EXPECT_EQ(after(*hook, 0.5, 10), "");
  EXPECT_EQ(after(*hook, kNan, 20), "early stopping: eval/auc is not a number (step 20)");
  const std::string text = "monitor: 'eval/loss' patience: 2 stop_on_not_a_number: false";
  EXPECT_EQ(stop_step(text, {kNan, 0.5, kNan, 0.4, kInfinity, -kInfinity}), 60);
  EXPECT_EQ(stop_step(text, {kNan, kNan, 0.5}), 20);
}

TEST(EarlyStoppingHookTest, ReasonsNameMetricBestValueAndStep) {
  const auto last_reason = [](const std::string& text, const std::vector<double>& values) {
    const std::unique_ptr<EarlyStoppingHook> hook = hook_of(text);
    std::string reason;
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_THAT(reason, IsEmpty());
      reason = after(*hook, values[i], static_cast<int64_t>(1000 * (i + 1)));
    }
    return reason;
  };
  EXPECT_EQ(last_reason("monitor: 'eval/auc'", {0.5, 0.7312, 0.7, 0.7, 0.7}),
            "early stopping: eval/auc has not improved on 0.7312 (step 2000) in 3 evaluations");
  EXPECT_EQ(last_reason("monitor: 'eval/auc' patience: 1 min_change: 0.001", {0.5, 0.5005}),
            "early stopping: eval/auc has not improved on 0.5 (step 1000) by more than 0.001 in 1 "
            "evaluation");
  EXPECT_EQ(
      last_reason("monitor: 'eval/auc' patience: 2 stop_on_not_a_number: false", {kNan, kInfinity}),
      "early stopping: eval/auc has had no finite value in 2 evaluations");
}

TEST(EarlyStoppingHookTest, ASecondEvaluationOfAStepIsNoNewValue) {
  const std::unique_ptr<EarlyStoppingHook> hook = hook_of("monitor: 'eval/auc' patience: 1");
  EXPECT_EQ(after(*hook, 0.5, 0), "");
  EXPECT_EQ(after(*hook, 0.5, 0), "");
  EXPECT_NE(after(*hook, 0.5, 1), "");
}

TEST(EarlyStoppingHookTest, OtherEvaluationsAndReportsDoNotCount) {
  const std::unique_ptr<EarlyStoppingHook> hook = hook_of("monitor: 'eval/auc' patience: 1");
  FakeHookContext context;
  EvaluationResult other;
  other.set = "other";
  EXPECT_OK(hook->after_evaluate(context, other));
  EXPECT_OK(hook->after_report(context, Report()));
  context.phase_is = Phase::kEvaluate;
  EvaluationResult alone;
  alone.set = "eval";
  EXPECT_OK(hook->after_evaluate(context, alone)) << "evaluate() outside training";
  EXPECT_EQ(after(*hook, 0.5, 10), "");
}

TEST(EarlyStoppingHookTest, ReportsOfTraining) {
  const std::unique_ptr<EarlyStoppingHook> hook = hook_of("monitor: 'train/buy/auc' patience: 2");
  FakeHookContext context;
  Report report;
  report.metrics = {{"buy/auc", 0.5}, {"click/auc", 0.7}};
  for (const int64_t step : {10, 20, 30}) {
    EXPECT_EQ(stop_reason(context), "");
    report.progress.step = step;
    EXPECT_OK(hook->after_report(context, report));
  }
  EXPECT_EQ(stop_reason(context),
            "early stopping: train/buy/auc has not improved on 0.5 (step 10) in 2 reports");
  EvaluationResult set;
  set.set = "train";
  EXPECT_OK(hook->after_evaluate(context, set)) << "a set of that name";
}

TEST(EarlyStoppingHookTest, AMetricThatIsMissingIsAnError) {
  FakeHookContext context;
  EvaluationResult result;
  result.set = "eval";
  result.metrics = {{"auc", 0.5}, {"loss", 0.5}};
  EXPECT_THAT(hook_of("monitor: 'eval/acu' mode: MAX")->after_evaluate(context, result),
              StatusIs(absl::StatusCode::kNotFound,
                       "monitor eval/acu: eval has no metric \"acu\"; did you mean \"auc\"?"));
  EXPECT_THAT(hook_of("monitor: 'train/auc'")->after_report(context, Report()),
              StatusIs(absl::StatusCode::kNotFound));
}

TEST(EarlyStoppingHookTest, StateContinuesTheObservations) {
  const std::string text = "monitor: 'eval/auc' warmup: 1";
  const std::vector<double> values = {0.9, 0.5, 0.4, 0.6, 0.5, 0.55, 0.6};
  ASSERT_EQ(stop_step(text, values), 70);
  std::unique_ptr<EarlyStoppingHook> hook = hook_of(text);
  for (size_t i = 0; i < values.size(); ++i) {
    const HookState state = saved(*hook);
    hook = hook_of(text);
    ASSERT_OK(hook->load_state({&state, 1}));
    const std::string reason = after(*hook, values[i], static_cast<int64_t>(10 * (i + 1)));
    EXPECT_EQ(reason, i == 6 ? "early stopping: eval/auc has not improved on 0.6 (step 40) in 3 "
                               "evaluations"
                             : "");
  }
  ASSERT_OK(hook->load_state({}));
  EXPECT_EQ(saved(*hook), saved(*hook_of(text))) << "a checkpoint without state";
}

TEST(EarlyStoppingHookTest, StateOfAnotherMetricIsDropped) {
  const std::unique_ptr<EarlyStoppingHook> hook =
      hook_of("monitor: 'eval/mean' mode: MAX patience: 1");
  EXPECT_EQ(after(*hook, 0.5, 10), "");
  const HookState state = saved(*hook);
  for (const char* other : {"monitor: 'eval/loss'", "monitor: 'eval/mean' mode: MIN"}) {
    const std::unique_ptr<EarlyStoppingHook> changed = hook_of(other);
    EXPECT_OK(changed->load_state({&state, 1}));
    EXPECT_EQ(saved(*changed), saved(*hook_of(other)));
  }
  const std::unique_ptr<EarlyStoppingHook> patient =
      hook_of("monitor: 'eval/mean' mode: MAX patience: 9");
  EXPECT_OK(patient->load_state({&state, 1}));
  EXPECT_EQ(saved(*patient), state) << "another patience changes no observation";
}

TEST(EarlyStoppingHookTest, ImplausibleStatesAreRefused) {
  const std::unique_ptr<EarlyStoppingHook> hook = hook_of("monitor: 'eval/auc'");
  EarlyStoppingState good;
  ASSERT_TRUE(good.ParseFromString(saved(*hook).bytes));
  const auto refuses = [&](auto change) {
    EarlyStoppingState bad = good;
    change(bad);
    const HookState state{1, bad.SerializeAsString()};
    EXPECT_THAT(hook->load_state({&state, 1}), StatusIs(kInvalid)) << bad.DebugString();
  };
  refuses([](EarlyStoppingState& state) { state.clear_monitor(); });
  refuses([](EarlyStoppingState& state) { state.set_best(kNan); });
  refuses([](EarlyStoppingState& state) { state.set_values(-1); });
  refuses([](EarlyStoppingState& state) { state.set_without_improvement(1); });
  const HookState ranks[] = {saved(*hook), {1, "other"}};
  EXPECT_THAT(hook->load_state(ranks), StatusIs(kInvalid, HasSubstr("differs between ranks")));
}

TEST(EarlyStoppingHookTest, TheFactoryRefusesAWrongConfiguration) {
  HookConfig config;
  config.set_name("early_stopping");
  const HookResources resources{FileSystem::local(), Clock::real(), "out", {}};
  EXPECT_THAT(create_hook(config, resources),
              StatusIs(kInvalid, AllOf(HasSubstr("early_stopping"), HasSubstr("monitor is"))));
  *config.MutableExtension(early_stopping) = config_of("monitor: 'eval/auc'");
  EXPECT_OK(create_hook(config, resources));
}

// Requests an evaluation after each step.
class EvaluatingHook : public Hook {
 public:
  absl::string_view name() const override { return "evaluating"; }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    if (context.phase() == Phase::kTrain) context.requests().evaluate();
    return absl::OkStatus();
  }
};

TEST(EarlyStoppingHookTest, AllRanksStopAtTheSameStepForTheSameReason) {
  std::vector<std::string> ends(2);
  const auto train_rank = [&](std::unique_ptr<Collectives> collectives) -> absl::Status {
    const int rank = collectives->rank();
    TinyTrainerOptions options;
    options.trainer.max_steps = 30;
    options.train = {.batches = 40, .batch_size = 8, .rank = rank, .world_size = 2};
    // The sets of the ranks differ, so that a decision by the values of a single rank would differ.
    options.eval = {.batches = rank == 0 ? 3 : 1, .batch_size = 4};
    TrainerParts parts = tiny_parts(options);
    parts.collectives = std::move(collectives);
    ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                     Trainer::create(options.trainer, std::move(parts)));
    RETURN_IF_ERROR(trainer->add_hook(std::make_unique<EvaluatingHook>()));
    RETURN_IF_ERROR(
        trainer->add_hook(hook_of("monitor: 'eval/loss' patience: 3 min_change: 0.02 warmup: 2")));
    ASSIGN_OR_RETURN(const Summary summary, trainer->train());
    EXPECT_FALSE(summary.stopped_by_rank);
    ends[rank] = absl::StrCat(summary.progress.step, ": ", summary.stop_reason);
    return absl::OkStatus();
  };
  EXPECT_THAT(run_thread_ranks({.world_size = 2}, train_rank),
              Each(StatusIs(absl::StatusCode::kOk)));
  EXPECT_EQ(ends[0], ends[1]);
  EXPECT_THAT(ends[0], HasSubstr("early stopping: eval/loss has not improved on"));
}

absl::Status check(const std::string& text) {
  return check_early_stopping("train.hooks[0]", config_of(text));
}

TEST(EarlyStoppingCheckTest, TheMetricGivesTheDirection) {
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/auc'")), true);
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/click/auc'")), true);
  for (const char* lower : {"'eval/loss'", "'train/logloss'", "'eval/buy/ne'"}) {
    EXPECT_EQ(higher_is_better(config_of(std::string("monitor: ") + lower)), false);
  }
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/mean'")), std::nullopt);
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/auc' mode: MIN")), false);
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/mean' mode: MAX")), true);
}

TEST(EarlyStoppingCheckTest, AMetricWithoutDirectionNeedsAMode) {
  EXPECT_THAT(check("monitor: 'eval/calibration'"),
              StatusIs(kInvalid,
                       "train.hooks[0]: mode is missing; calibration has no direction, "
                       "so set it to MAX or MIN"));
  EXPECT_OK(check("monitor: 'eval/calibration' mode: MIN"));
  EXPECT_THAT(check("monitor: 'eval/auc' mode: MIN"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("mode is MIN, but higher values of eval/auc are better")));
}

TEST(EarlyStoppingCheckTest, MonitorsThatNameNoMetric) {
  EXPECT_THAT(check(""), StatusIs(kInvalid, HasSubstr("train.hooks[0]: monitor is missing")));
  for (const std::string monitor : {"auc", "eval/", "/auc", "eval//auc"}) {
    EXPECT_THAT(check("monitor: '" + monitor + "'"),
                StatusIs(kInvalid, HasSubstr("monitor is \"" + monitor + "\"; set it to SET/")));
  }
}

TEST(EarlyStoppingCheckTest, NumbersOutOfRangeAreFoundTogether) {
  EXPECT_THAT(check("monitor: 'eval/auc' patience: 0 min_change: -0.5 warmup: -2"),
              StatusIs(kInvalid, AllOf(HasSubstr("patience is 0; must be at least 1"),
                                       HasSubstr("min_change is -0.5; must be at least 0"),
                                       HasSubstr("warmup is -2; must be at least 0"))));
  EXPECT_OK(check("monitor: 'eval/auc' patience: 1 min_change: 0.5 warmup: 2"));
}

}  // namespace
}  // namespace millrace
