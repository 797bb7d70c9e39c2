#include "job/monitor_check.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "metrics/metric_registry.h"
#include "optim/schedule/schedule_registry.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kEveryStep[] = "evaluation { when { every_steps: 5 } }";

// Checks a job with these training hooks, fields of run and fields of train.
absl::Status check_hooks(const std::string& hooks, const std::string& run = kEveryStep,
                         const std::string& train = "eval_data {}") {
  JobConfig config;
  EXPECT_OK(parse_text(absl::StrCat("train { feature { name: 'label' kind: LABEL } ", train, hooks,
                                    " } run { ", run, " }"),
                       "test", &config));
  expand_names(config.mutable_train());
  return check_monitors(config);
}

std::string stopping(const std::string& monitor, const std::string& more = "") {
  return absl::StrCat("hooks { name: 'early_stopping' [millrace.early_stopping] { monitor: '",
                      monitor, "' ", more, " } }");
}

absl::Status check(const std::string& monitor, const std::string& run = kEveryStep,
                   const std::string& train = "eval_data {}") {
  return check_hooks(stopping(monitor), run, train);
}

TEST(MonitorCheckTest, MetricsOfEvaluationsAndReports) {
  EXPECT_OK(check_hooks(""));
  for (const char* monitor : {"eval/auc", "eval/loss", "train/auc", "train/loss"}) {
    EXPECT_OK(check(monitor));
  }
  const std::string two_labels = "feature { name: 'buy' kind: LABEL } eval_data {}";
  EXPECT_OK(check("eval/buy/auc", kEveryStep, two_labels));
  EXPECT_OK(check("train/buy/auc", kEveryStep, two_labels));
  EXPECT_OK(check("next_window/auc", "evaluation { progressive: true }", ""));
  EXPECT_OK(check("late/auc", "", "eval_data { name: 'late' data { windows {} } }"));
}

TEST(MonitorCheckTest, AMetricThatNobodyReports) {
  for (const char* mode : {"", "mode: MAX"}) {
    EXPECT_THAT(check_hooks(stopping("eval/acu", mode)),
                StatusIs(kInvalid,
                         "train.hooks[0] \"early_stopping\": monitor \"eval/acu\": no evaluation "
                         "or report gives this metric; did you mean \"eval/auc\"? Sets: eval, "
                         "train; metrics: loss, auc, logloss, ne, calibration"));
  }
  EXPECT_THAT(check("eval/calibration"), StatusIs(kInvalid, HasSubstr("mode is missing")));
  EXPECT_THAT(check("evl/auc"), StatusIs(kInvalid, HasSubstr("did you mean \"eval/auc\"?")));
  EXPECT_THAT(check("trian/auc"), StatusIs(kInvalid, HasSubstr("did you mean \"train/auc\"?")));
  EXPECT_FALSE(check("eval/auc", kEveryStep, "metric: 'mean' eval_data {}").ok());
}

TEST(MonitorCheckTest, MetricsThatSchedulesFollow) {
  const auto plateau = [](const std::string& place, const std::string& monitor,
                          const std::string& mode = "MAX") {
    return absl::StrCat("eval_data {} ", place, " { schedule { reduce_on_plateau { monitor: '",
                        monitor, "' mode: ", mode, " } } }");
  };
  for (const char* place : {"optimizer", "sparse_optimizer", "more_optimizers"}) {
    EXPECT_OK(check_hooks("", kEveryStep, plateau(place, "eval/auc")));
    EXPECT_THAT(check_hooks("", kEveryStep, plateau(place, "eval/acu")),
                StatusIs(kInvalid, AllOf(HasSubstr(absl::StrCat("train.", place)),
                                         HasSubstr("did you mean \"eval/auc\"?"))));
  }
  EXPECT_OK(check_hooks("", kEveryStep, plateau("optimizer", "eval/logloss", "MIN")));
  EXPECT_OK(check_hooks("", kEveryStep, plateau("optimizer", "eval/calibration", "MIN")));
  EXPECT_THAT(check_hooks("", kEveryStep, plateau("optimizer", "eval/auc", "MIN")),
              StatusIs(kInvalid, HasSubstr("higher values of eval/auc are better; set mode: MAX")));
  EXPECT_THAT(check_hooks("", kEveryStep, plateau("optimizer", "train/loss", "MAX")),
              StatusIs(kInvalid, HasSubstr("set mode: MIN")));
  EXPECT_THAT(check_hooks("", "", plateau("optimizer", "eval/auc")),
              StatusIs(kInvalid, HasSubstr("train.optimizer.schedule: monitor \"eval/auc\"")));
}

// A registered schedule that follows eval/acu, which does not exist.
class FollowsAcu : public Schedule {
 public:
  static absl::StatusOr<std::unique_ptr<Schedule>> create(const CustomConfig&,
                                                          const ScheduleInput& input) {
    if (!input.totals.steps.has_value()) return absl::InvalidArgumentError("needs max_steps");
    return std::make_unique<FollowsAcu>(input.unit);
  }
  using Schedule::Schedule;
  double rate_at(double) const override { return 0; }
  absl::string_view monitor() const override { return "eval/acu"; }
};
MILLRACE_REGISTER_SCHEDULE(follows_acu, "a schedule of this test", &FollowsAcu::create);

TEST(MonitorCheckTest, MetricsThatRegisteredSchedulesFollow) {
  const std::string follows = "optimizer { schedule { custom { name: 'follows_acu' } } }";
  EXPECT_THAT(check_hooks("", kEveryStep, "eval_data {} max_steps: 5 " + follows),
              StatusIs(kInvalid, AllOf(HasSubstr("train.optimizer.schedule: monitor \"eval/acu\""),
                                       HasSubstr("did you mean \"eval/auc\"?"))));
  EXPECT_THAT(check_hooks("", kEveryStep, "eval_data {} " + follows),
              StatusIs(kInvalid, HasSubstr("needs max_steps")));
}

TEST(MonitorCheckTest, EvaluationsThatAreNeverMade) {
  EXPECT_THAT(check("eval/auc", kEveryStep, ""),
              StatusIs(kInvalid, AllOf(HasSubstr("evaluates nothing"), HasSubstr("--eval_data"))));
  EXPECT_THAT(check("eval/auc", "evaluation { enabled: false }"),
              StatusIs(kInvalid, HasSubstr("run.evaluation.enabled is false")));
  EXPECT_OK(check("train/auc", "evaluation { enabled: false }", ""));
}

TEST(MonitorCheckTest, EvaluationsAndReportsThatAreMadeOnce) {
  for (const std::string run : {"", "evaluation { when { at_start: true at_end: true } }"}) {
    EXPECT_THAT(check("eval/auc", run),
                StatusIs(kInvalid, HasSubstr("set \"eval\" is evaluated only at the start or the "
                                             "end; give run.evaluation.when, or")));
  }
  EXPECT_OK(check("eval/auc", "evaluation { when { every_seconds: 5 } }"));
  EXPECT_OK(check("eval/auc", "hooks { name: 'my_own' }")) << "a hook of the job may evaluate";
  EXPECT_THAT(check("train/auc", "report { when { at_end: true } }"),
              StatusIs(kInvalid, HasSubstr("give run.report.when a trigger")));
}

TEST(MonitorCheckTest, AnEvaluationSetWithTheNameOfReports) {
  const std::string set = "eval_data { name: 'train' }";
  EXPECT_THAT(check("train/auc", kEveryStep, set),
              StatusIs(kInvalid, HasSubstr("give the set another name")));
}

TEST(MonitorCheckTest, PlaceOfEarlyStopping) {
  EXPECT_THAT(check_hooks("", absl::StrCat(kEveryStep, stopping("eval/auc"))),
              StatusIs(kInvalid, HasSubstr("run.hooks[0] \"early_stopping\": it decides")));
}

TEST(MonitorCheckTest, MetricsOfASetsOwn) {
  const std::string sets = "eval_data { metric: 'mean' } eval_data { name: 'other' }";
  EXPECT_OK(check_hooks(stopping("eval/mean", "mode: MAX"), kEveryStep, sets));
  EXPECT_OK(check("eval/loss", kEveryStep, sets));
  EXPECT_OK(check("other/auc", kEveryStep, sets));
  EXPECT_OK(check("train/auc", kEveryStep, sets));
  EXPECT_THAT(
      check("eval/auc", kEveryStep, sets),
      StatusIs(kInvalid, HasSubstr("metrics of eval: loss, mean; of other: loss, auc, logloss, ne, "
                                   "calibration; of train: loss, auc, ")));
}

TEST(MonitorCheckTest, CadencesOfASetsOwn) {
  const std::string sets = "eval_data {} eval_data { name: 'slow' }";
  const std::string run =
      "evaluation { when { at_end: true } set { name: 'slow' when { every_epochs: 1 } } }";
  EXPECT_OK(check("slow/auc", run, sets));
  EXPECT_THAT(check("eval/auc", run, sets),
              StatusIs(kInvalid, HasSubstr("set \"eval\" is evaluated only at the start")));
  EXPECT_THAT(
      check("slow/auc", "evaluation { set { name: 'slow' when {} } }", sets),
      StatusIs(kInvalid, HasSubstr("monitor \"slow/auc\": set \"slow\" is never evaluated; give "
                                   "run.evaluation.set[0] \"slow\" a trigger in when")));
}

TEST(MonitorCheckTest, AMissingLabelIsNamed) {
  const std::string labels = "feature { name: 'buy' kind: LABEL } eval_data {}";
  EXPECT_THAT(
      check("eval/auc", kEveryStep, labels),
      StatusIs(kInvalid, HasSubstr("did you mean \"eval/label/auc\" or \"eval/buy/auc\"?")));
  EXPECT_THAT(check("eval/logles", kEveryStep, labels),
              StatusIs(kInvalid, HasSubstr("did you mean \"eval/label/logloss\" or ")));
  EXPECT_THAT(check("eval/buy/acu", kEveryStep, labels),
              StatusIs(kInvalid, HasSubstr("did you mean \"eval/buy/auc\"?")));
}

TEST(MonitorCheckTest, AllMistakesAreFoundTogether) {
  EXPECT_THAT(check_hooks(absl::StrCat(stopping("eval/acu"), stopping("auc")),
                          absl::StrCat(kEveryStep, stopping("eval/auc"))),
              StatusIs(kInvalid,
                       AllOf(HasSubstr("run.hooks[0] \"early_stopping\": it decides"),
                             HasSubstr("train.hooks[0] \"early_stopping\": monitor \"eval/acu\""),
                             HasSubstr("train.hooks[1] \"early_stopping\": monitor is \"auc\""))));
}

constexpr char kTwoSets[] = "eval_data {} eval_data { name: 'fresh' }";

// Checks a job with these fields of run.evaluation and of train.
absl::Status check_score(const std::string& evaluation, const std::string& train = kTwoSets,
                         const std::string& run = "") {
  JobConfig config;
  EXPECT_OK(parse_text(absl::StrCat("train { feature { name: 'label' kind: LABEL } ", train,
                                    " } run { evaluation { ", evaluation, " } ", run, " }"),
                       "test", &config));
  expand_names(config.mutable_train());
  return check_best(config);
}

std::string best(const std::string& first, const std::string& second = "") {
  return absl::StrCat("best { term { monitor: '", first, "' } ",
                      second.empty() ? "" : absl::StrCat("term { monitor: '", second, "' } "),
                      "} ");
}

TEST(BestCheckTest, MetricsOfEvaluations) {
  EXPECT_OK(check_score(""));
  EXPECT_OK(check_score(best("eval/auc")));
  EXPECT_OK(check_score(best("eval/loss", "fresh/ne")));
  EXPECT_OK(check_score("best { term { monitor: 'fresh/mean' } higher_is_better: true }",
                        "eval_data { name: 'fresh' metric: 'mean' }"));
}

TEST(BestCheckTest, MistakesAreFoundTogetherWithTheNearestName) {
  EXPECT_THAT(check_score(best("eval/acu", "frehs/auc")),
              StatusIs(kInvalid,
                       "run.evaluation.best.term[0] \"eval/acu\": no evaluation gives this metric; "
                       "did you mean \"eval/auc\"? Sets: eval, fresh; metrics: loss, auc, logloss, "
                       "ne, calibration\n"
                       "run.evaluation.best.term[1] \"frehs/auc\": no evaluation gives this "
                       "metric; did you mean \"fresh/auc\"? Sets: eval, fresh; metrics: loss, auc, "
                       "logloss, ne, calibration"));
  EXPECT_THAT(check_score("best { term { monitor: 'eval/acu' weight: -1 } }"),
              StatusIs(kInvalid, AllOf(HasSubstr("\"eval/auc\""), HasSubstr("weight is -1"))));
  EXPECT_THAT(check_score(best("train/auc")), StatusIs(kInvalid, HasSubstr("no evaluation gives")));
  EXPECT_THAT(check_score("best {}"), StatusIs(kInvalid, HasSubstr("term is missing")));
}

TEST(BestCheckTest, EvaluationsThatAreNeverMade) {
  EXPECT_THAT(check_score(best("eval/auc") + "enabled: false"),
              StatusIs(kInvalid, HasSubstr("run.evaluation.enabled is false")));
  EXPECT_THAT(check_score(best("fresh/auc") + "set { name: 'fresh' when {} }"),
              StatusIs(kInvalid, HasSubstr("set \"fresh\" is never evaluated")));
  EXPECT_THAT(check_score(best("next_window/auc") + "progressive: true"),
              StatusIs(kInvalid, HasSubstr("next_window is evaluated after the checkpoint")));
}

TEST(BestCheckTest, SetsThatAreNeverEvaluatedAtOneStep) {
  const std::string terms = best("eval/auc", "fresh/auc");
  const std::string fresh = terms + "set { name: 'fresh' when { ";
  EXPECT_THAT(
      check_score(fresh + "every_steps: 10 } }"),
      StatusIs(
          kInvalid,
          AllOf(HasSubstr(
                    "have no trigger in common, so that no step has a score: eval at end; fresh "
                    "every 10 steps"),
                HasSubstr("a trigger in common"))));
  EXPECT_OK(check_score(fresh + "every_steps: 10 at_end: true } }"));
  EXPECT_OK(check_score(fresh + "every_steps: 10 } }", absl::StrCat("max_steps: 100 ", kTwoSets)))
      << "step 100 is the end";
  EXPECT_FALSE(
      check_score(fresh + "every_steps: 10 } }", absl::StrCat("max_steps: 105 ", kTwoSets)).ok());
  EXPECT_OK(check_score(fresh + "every_steps: 6 } } when { every_steps: 10 }"));
  EXPECT_OK(check_score(fresh + "every_steps: 6 } } when { every_steps: 10 }",
                        absl::StrCat("max_steps: 29 ", kTwoSets)))
      << "a later run may come to step 30";
  EXPECT_OK(check_score(fresh + "every_epochs: 1 } } when { every_steps: 10 every_epochs: 1 }"));
  EXPECT_FALSE(check_score(fresh + "every_epochs: 1 } } when { every_steps: 10 }").ok());
  EXPECT_OK(check_score(fresh + "every_steps: 10 } }", kTwoSets, "hooks { name: 'my_own' }"))
      << "a hook of the job may evaluate";
}

TEST(BestCheckTest, SetsInWindowsAreEvaluatedAfterEachWindow) {
  const std::string sets = "eval_data {} eval_data { name: 'late' data { windows {} } }";
  EXPECT_OK(check_score(best("eval/auc", "late/auc") + "when { every_windows: 3 }", sets));
  EXPECT_THAT(check_score(best("eval/auc", "late/auc"), sets),
              StatusIs(kInvalid, HasSubstr("eval at end; late every window")));
}

class KeepBestCheckTest : public testing::Test {
 protected:
  // Checks a job with these labels and evaluation sets.
  absl::Status check(const std::string& keep_best, const std::string& train = "eval_data {}",
                     const std::string& labels = "feature { name: \"label\" kind: LABEL }") {
    JobConfig config;
    EXPECT_OK(
        parse_text("train { " + labels + train + " } run { checkpoint { " + keep_best + " } }",
                   "test", &config));
    expand_names(config.mutable_train());
    return check_keep_best(config);
  }
  static std::string best(const std::string& metric) {
    const bool lower = contradicts(metric, /*higher_is_better=*/true);
    return "keep_best { metric: \"" + metric +
           "\" higher_is_better: " + (lower ? "false" : "true") + " }";
  }
};

TEST_F(KeepBestCheckTest, WhatEvaluationsGive) {
  EXPECT_OK(check(""));
  for (const char* metric : {"eval/loss", "eval/auc", "eval/logloss", "eval/ne"}) {
    EXPECT_OK(check(best(metric)));
  }
  EXPECT_OK(
      check(best("fresh/mean"), "metric: \"mean\" eval_data {} eval_data { name: \"fresh\" }"));
  EXPECT_OK(check(best("eval/click/auc"), "eval_data {}",
                  "feature { name: \"click\" kind: LABEL } feature { name: \"buy\" kind: LABEL }"));
}

// No checkpoint has such a metric, since the checkpoint of the step was saved before.
TEST_F(KeepBestCheckTest, WindowsThatAreEvaluatedBeforeTheyAreTrainedOn) {
  const std::string progressive = " } evaluation { progressive: true";
  EXPECT_THAT(check(best("next_window/auc") + progressive, ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "run.checkpoint.keep_best \"next_window/auc\": next_window is evaluated "
                       "after the checkpoint of its step was made; name a set of train.eval_data"));
  EXPECT_THAT(check(best("next_window/auc")), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(KeepBestCheckTest, MisspeltNamesAreRefusedWithTheNearest) {
  EXPECT_THAT(
      check(best("eval/acu")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "run.checkpoint.keep_best \"eval/acu\": no evaluation gives this metric; did you "
               "mean \"eval/auc\"? Sets: eval; metrics: loss, auc, logloss, ne, calibration"));
  EXPECT_THAT(check(best("eval/auc") + best("evl/logloss")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("mean \"eval/logloss\"?")));
  EXPECT_THAT(check(best("eval/recall_at_10")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("gives this metric; sets: eval; metrics: loss, auc"))));
}

TEST_F(KeepBestCheckTest, AllThatAreMisspeltAreFoundTogether) {
  EXPECT_THAT(
      check(best("eval/acu") + best("evl/logloss")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("mean \"eval/auc\"?"), HasSubstr("mean \"eval/logloss\"?"))));
}

TEST_F(KeepBestCheckTest, MetricsOfASetsOwn) {
  EXPECT_OK(check(best("eval/mean"), "eval_data { metric: \"mean\" }"));
  EXPECT_FALSE(check(best("eval/auc"), "eval_data { metric: \"mean\" }").ok());
}

TEST_F(KeepBestCheckTest, MetricsThatTheJobDoesNotCompute) {
  EXPECT_FALSE(check(best("eval/auc"), "metric: \"mean\" eval_data {}").ok());
  EXPECT_THAT(
      check(best("eval/auc"), "eval_data {}",
            "feature { name: \"click\" kind: LABEL } feature { name: \"buy\" kind: LABEL }"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("click/auc")));
}

TEST_F(KeepBestCheckTest, EvaluationsThatAreNeverMade) {
  const auto refuses = [&](const std::string& run, const std::string& what) {
    EXPECT_THAT(check(best("eval/auc") + "} " + run),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  refuses("evaluation { enabled: false ", "evaluates nothing; run.evaluation.enabled is false");
  refuses("evaluation { when {} ", "evaluates nothing; run.evaluation.when has no trigger");
  EXPECT_OK(check(best("eval/auc") + "} evaluation { when { every_steps: 5 } "));
  EXPECT_OK(check(best("eval/auc") + "} hooks { name: 'my_own' } evaluation { enabled: false "))
      << "a hook of the job's own may ask";
  for (const std::string hook : {"example_trace", "profiler", "watch_tensors"}) {
    EXPECT_FALSE(
        check(best("eval/auc") + "} hooks { name: '" + hook + "' } evaluation { enabled: false ")
            .ok())
        << hook;
  }
}

TEST_F(KeepBestCheckTest, SetsInWindowsNeedEvaluationsToBeEnabled) {
  const std::string sets = "eval_data { name: 'late' data { windows {} } } eval_data {}";
  EXPECT_OK(check(best("late/auc") + "} evaluation { when {} ", sets));
  EXPECT_THAT(
      check(best("late/auc") + "} hooks { name: 'my_own' } evaluation { enabled: false ", sets),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("\"late\" is never evaluated; run.evaluation.enabled is false")));
}

TEST_F(KeepBestCheckTest, ASetWithoutATriggerOfItsOwn) {
  const std::string never = "} evaluation { set { name: 'eval' when {} } ";
  EXPECT_THAT(check(best("eval/auc") + never),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("set \"eval\" is never evaluated"),
                             HasSubstr("run.evaluation.set[0] \"eval\""))));
  EXPECT_THAT(check(best("eval/auc") + never, "eval_data {} eval_data { name: 'late' }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is never evaluated")));
}

TEST_F(KeepBestCheckTest, AMetricThatIsNamedTwice) {
  EXPECT_THAT(check(best("eval/auc") + best("eval/loss") + best("eval/auc")),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "run.checkpoint.keep_best \"eval/auc\": an entry before it has the metric; "
                       "give that one a larger count"));
}

TEST_F(KeepBestCheckTest, NothingToEvaluate) {
  EXPECT_THAT(check(best("eval/auc"), ""),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("evaluates nothing"), HasSubstr("--eval_data"))));
}

}  // namespace
}  // namespace millrace
