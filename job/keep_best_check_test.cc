#include "job/keep_best_check.h"

#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "metrics/metric_direction.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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
