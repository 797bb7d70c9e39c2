#include "job/monitor_check.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
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

}  // namespace
}  // namespace millrace
