#include "job/best_check.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kTwoSets[] = "eval_data {} eval_data { name: 'fresh' }";

// Checks a job with these fields of run.evaluation and of train.
absl::Status check(const std::string& evaluation, const std::string& train = kTwoSets,
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
  EXPECT_OK(check(""));
  EXPECT_OK(check(best("eval/auc")));
  EXPECT_OK(check(best("eval/loss", "fresh/ne")));
  EXPECT_OK(check("best { term { monitor: 'fresh/mean' } higher_is_better: true }",
                  "eval_data { name: 'fresh' metric: 'mean' }"));
}

TEST(BestCheckTest, MistakesAreFoundTogetherWithTheNearestName) {
  EXPECT_THAT(check(best("eval/acu", "frehs/auc")),
              StatusIs(kInvalid,
                       "run.evaluation.best.term[0] \"eval/acu\": no evaluation gives this metric; "
                       "did you mean \"eval/auc\"? Sets: eval, fresh; metrics: loss, auc, logloss, "
                       "ne, calibration\n"
                       "run.evaluation.best.term[1] \"frehs/auc\": no evaluation gives this "
                       "metric; did you mean \"fresh/auc\"? Sets: eval, fresh; metrics: loss, auc, "
                       "logloss, ne, calibration"));
  EXPECT_THAT(check("best { term { monitor: 'eval/acu' weight: -1 } }"),
              StatusIs(kInvalid, AllOf(HasSubstr("\"eval/auc\""), HasSubstr("weight is -1"))));
  EXPECT_THAT(check(best("train/auc")), StatusIs(kInvalid, HasSubstr("no evaluation gives")));
  EXPECT_THAT(check("best {}"), StatusIs(kInvalid, HasSubstr("term is missing")));
}

TEST(BestCheckTest, EvaluationsThatAreNeverMade) {
  EXPECT_THAT(check(best("eval/auc") + "enabled: false"),
              StatusIs(kInvalid, HasSubstr("run.evaluation.enabled is false")));
  EXPECT_THAT(check(best("fresh/auc") + "set { name: 'fresh' when {} }"),
              StatusIs(kInvalid, HasSubstr("set \"fresh\" is never evaluated")));
  EXPECT_THAT(check(best("next_window/auc") + "progressive: true"),
              StatusIs(kInvalid, HasSubstr("next_window is evaluated after the checkpoint")));
}

TEST(BestCheckTest, SetsThatAreNeverEvaluatedAtOneStep) {
  const std::string terms = best("eval/auc", "fresh/auc");
  const std::string fresh = terms + "set { name: 'fresh' when { ";
  EXPECT_THAT(
      check(fresh + "every_steps: 10 } }"),
      StatusIs(
          kInvalid,
          AllOf(HasSubstr(
                    "have no trigger in common, so that no step has a score: eval at end; fresh "
                    "every 10 steps"),
                HasSubstr("a trigger in common"))));
  EXPECT_OK(check(fresh + "every_steps: 10 at_end: true } }"));
  EXPECT_OK(check(fresh + "every_steps: 10 } }", absl::StrCat("max_steps: 100 ", kTwoSets)))
      << "step 100 is the end";
  EXPECT_FALSE(
      check(fresh + "every_steps: 10 } }", absl::StrCat("max_steps: 105 ", kTwoSets)).ok());
  EXPECT_OK(check(fresh + "every_steps: 6 } } when { every_steps: 10 }"));
  EXPECT_OK(check(fresh + "every_steps: 6 } } when { every_steps: 10 }",
                  absl::StrCat("max_steps: 29 ", kTwoSets)))
      << "a later run may come to step 30";
  EXPECT_OK(check(fresh + "every_epochs: 1 } } when { every_steps: 10 every_epochs: 1 }"));
  EXPECT_FALSE(check(fresh + "every_epochs: 1 } } when { every_steps: 10 }").ok());
  EXPECT_OK(check(fresh + "every_steps: 10 } }", kTwoSets, "hooks { name: 'my_own' }"))
      << "a hook of the job may evaluate";
}

TEST(BestCheckTest, SetsInWindowsAreEvaluatedAfterEachWindow) {
  const std::string sets = "eval_data {} eval_data { name: 'late' data { windows {} } }";
  EXPECT_OK(check(best("eval/auc", "late/auc") + "when { every_windows: 3 }", sets));
  EXPECT_THAT(check(best("eval/auc", "late/auc"), sets),
              StatusIs(kInvalid, HasSubstr("eval at end; late every window")));
}

}  // namespace
}  // namespace millrace
