#include "framework/loop/best_score.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "base/status_matchers.h"
#include "proto/config_reader.h"

namespace millrace {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

BestScore auc() { return BestScore({.terms = {{"eval/auc"}}}); }

TEST(BestScoreTest, TheFirstOfTheHighest) {
  BestScore best = auc();
  EXPECT_FALSE(best.best().has_value());
  EXPECT_TRUE(best.observe({{"eval/auc", 0.5}, {"eval/loss", 9}}, 10));
  EXPECT_FALSE(best.observe({{"eval/auc", 0.25}}, 20));
  EXPECT_TRUE(best.observe({{"eval/auc", 0.75}}, 30));
  EXPECT_FALSE(best.observe({{"eval/auc", 0.75}}, 40));
  EXPECT_EQ(best.best()->value, 0.75);
  EXPECT_EQ(best.best()->step, 30);
}

TEST(BestScoreTest, TheLowestWhereThatIsBetter) {
  BestScore best({.terms = {{"eval/loss"}}, .higher_is_better = false});
  EXPECT_TRUE(best.observe({{"eval/loss", 0.5}}, 10));
  EXPECT_TRUE(best.observe({{"eval/loss", -0.5}}, 20));
  EXPECT_FALSE(best.observe({{"eval/loss", 0}}, 30));
  EXPECT_EQ(best.best()->step, 20);
}

TEST(BestScoreTest, TheWeightedMeanOfSeveralTerms) {
  BestScore best({.terms = {{"eval/auc", 3}, {"fresh/auc"}}});
  EXPECT_TRUE(best.observe({{"eval/auc", 0.5}, {"fresh/auc", 1}}, 1));
  EXPECT_EQ(best.best()->value, 0.625);
  EXPECT_FALSE(best.observe({{"eval/auc", 0.25}, {"fresh/auc", 1.5}}, 2)) << "0.5625";
}

TEST(BestScoreTest, NoScoreWithoutEachTermOrAFiniteValue) {
  BestScore best({.terms = {{"eval/auc"}, {"fresh/auc"}}});
  EXPECT_FALSE(best.observe({{"eval/auc", 0.5}}, 1));
  EXPECT_FALSE(best.observe({{"eval/auc", 0.5}, {"fresh/auc", NAN}}, 2));
  EXPECT_FALSE(best.observe({{"eval/auc", INFINITY}, {"fresh/auc", 0}}, 3));
  EXPECT_FALSE(best.best().has_value());
  BestScore none;
  EXPECT_FALSE(none.observe({{"eval/auc", 0.5}}, 1));
}

TEST(BestScoreTest, CheckpointsHoldIt) {
  BestScore best = auc();
  SharedState state;
  best.save(&state);
  EXPECT_FALSE(state.has_best());
  best.observe({{"eval/auc", 0.1}}, 7);
  best.save(&state);
  BestScore resumed = auc();
  std::vector<std::string> notes;
  resumed.restore(state, &notes);
  EXPECT_THAT(notes, IsEmpty());
  EXPECT_EQ(resumed.best()->value, 0.1);
  EXPECT_EQ(resumed.best()->step, 7);
  resumed.restore(SharedState(), &notes);
  EXPECT_FALSE(resumed.best().has_value());
}

TEST(BestScoreTest, ThatOfAnotherScoreIsDropped) {
  BestScore best = auc();
  best.observe({{"eval/auc", 0.1}}, 7);
  SharedState state;
  best.save(&state);
  std::vector<std::string> notes;
  for (const BestScoreOptions& options :
       {BestScoreOptions{.terms = {{"eval/auc"}}, .higher_is_better = false},
        BestScoreOptions{.terms = {{"eval/auc"}, {"fresh/auc", 0.5}}}}) {
    BestScore other(options);
    other.restore(state, &notes);
    EXPECT_FALSE(other.best().has_value());
  }
  EXPECT_THAT(notes,
              ElementsAre("the best score is reset: it was of eval/auc, higher is better; it is of "
                          "eval/auc, lower is better. The checkpoint of step 7 is no longer "
                          "retained for it",
                          HasSubstr("it is of mean of 1 eval/auc + 0.5 fresh/auc, higher is")));
  BestScore none;
  none.restore(state, &notes);
  ASSERT_EQ(notes.size(), 3u);
  EXPECT_THAT(notes[2], HasSubstr("the checkpoint of step 7 is no longer retained"));
}

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
