#include "framework/loop/best_score_check.h"

#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

BestScoreConfig config_of(const std::string& text) {
  BestScoreConfig config;
  EXPECT_OK(parse_text(text, "test", &config));
  return config;
}

absl::Status check(const std::string& text) { return check_best_score("best", config_of(text)); }

std::string term(const std::string& monitor, const std::string& more = "") {
  return "term { monitor: '" + monitor + "' " + more + " } ";
}

TEST(BestScoreCheckTest, TheMetricsGiveTheDirection) {
  EXPECT_EQ(higher_is_better(config_of(term("eval/auc") + term("b/buy/auc"))), true);
  EXPECT_EQ(higher_is_better(config_of(term("eval/loss") + term("b/ne"))), false);
  EXPECT_EQ(higher_is_better(config_of(term("eval/mean"))), std::nullopt);
  EXPECT_EQ(higher_is_better(config_of(term("eval/auc") + term("eval/loss"))), std::nullopt);
  EXPECT_EQ(higher_is_better(config_of(term("eval/mean") + "higher_is_better: false")), false);
}

TEST(BestScoreCheckTest, Good) {
  EXPECT_OK(check(term("eval/auc")));
  EXPECT_OK(check(term("eval/auc", "weight: 0.25") + term("eval/buy/auc")));
  EXPECT_OK(check(term("eval/auc") + term("eval/calibration") + "higher_is_better: true"));
}

TEST(BestScoreCheckTest, Directions) {
  EXPECT_THAT(check(term("eval/auc") + term("b/loss") + term("b/ne") + "higher_is_better: true"),
              StatusIs(kInvalid,
                       "best: term: higher values of eval/auc are better, but lower values of "
                       "b/loss, b/ne; a score has terms of one direction"));
  EXPECT_THAT(check(term("eval/auc") + term("eval/calibration")),
              StatusIs(kInvalid,
                       "best: higher_is_better is missing; eval/calibration has no direction, so "
                       "set it to true or false"));
}

TEST(BestScoreCheckTest, AllWrongFieldsAreFoundTogether) {
  EXPECT_THAT(check(""), StatusIs(kInvalid, HasSubstr("best: term is missing")));
  EXPECT_THAT(
      check(term("eval/auc", "weight: 0") + term("eval/auc", "weight: inf") + term("")),
      StatusIs(kInvalid,
               AllOf(HasSubstr("best.term[0] \"eval/auc\": weight is 0; must be above 0"),
                     HasSubstr("best.term[1] \"eval/auc\": the monitor is that of a term before"),
                     HasSubstr("best.term[1] \"eval/auc\": weight is inf"),
                     HasSubstr("best.term[2]: monitor is missing"))));
}

}  // namespace
}  // namespace millrace
