#include "framework/loop/request_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "base/failure_kind.h"
#include "base/status_matchers.h"
#include "framework/loop/loop_parts_testing.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class RequestServerTest : public testing::Test {
 protected:
  static CheckpointInfo info(const TrainState& state) {
    return {absl::StrCat("step-", state.shared.progress().step()),
            {.step = state.shared.progress().step()}};
  }
  // Makes an exchange, as the loop does for every step.
  absl::Status exchange() { return loop_.agreement.meet({"step", 1}, {}); }
  // Returns the served requests in the log.
  std::vector<std::string> served() const {
    std::vector<std::string> served;
    for (const std::string& text : loop_.events.texts) {
      if (absl::StartsWith(text, "served ")) served.push_back(text.substr(7));
    }
    return served;
  }

  std::vector<SharedState> saved_;
  LoopParts loop_{[this](const TrainState& state, const auto&) {
                    saved_.push_back(state.shared);
                    return info(state);
                  },
                  {.report_at_end = false},
                  {.limits = {.max_steps = 5, .max_epochs = 0}}};
};

TEST_F(RequestServerTest, NothingAskedIsNothingServed) {
  EXPECT_THAT(loop_.server.serve_common(), IsOkAndHolds(false));
  ASSERT_OK(exchange());
  EXPECT_THAT(loop_.server.serve_agreed(), IsOkAndHolds(false));
  EXPECT_THAT(loop_.events.texts, IsEmpty());
  EXPECT_TRUE(loop_.loop.consistency.holds());
}

TEST_F(RequestServerTest, EvaluatesThenSavesThenStops) {
  loop_.make_step();
  loop_.requests.stop("enough");
  loop_.requests.checkpoint();
  loop_.requests.evaluate();
  EXPECT_THAT(loop_.server.serve_common(), IsOkAndHolds(true));
  // One checkpoint precedes the last evaluation, and one was requested.
  EXPECT_THAT(served(), ElementsAre("checkpoint before the last evaluation", "evaluate eval",
                                    "checkpoint", "stop enough"));
  EXPECT_EQ(loop_.recorder.summary().eval_step.at("eval"), 1);
  EXPECT_TRUE(loop_.server.stopped());
  EXPECT_FALSE(loop_.loop.stop.by_rank);
  EXPECT_TRUE(loop_.server.training_is_over());
  EXPECT_TRUE(loop_.loop.consistency.holds());
}

TEST_F(RequestServerTest, TheFirstReasonOfAStopWins) {
  loop_.requests.stop("first");
  ASSERT_OK(loop_.server.serve_common());
  loop_.requests.stop("second");
  ASSERT_OK(loop_.server.serve_common());
  EXPECT_EQ(loop_.loop.stop.reason, "first");
  loop_.server.begin_run();
  EXPECT_FALSE(loop_.server.stopped());
}

TEST_F(RequestServerTest, WhatTheResultMadeHooksAskForIsServedAtTheSamePoint) {
  loop_.make_step();
  loop_.add_hook([](HookContext& context, absl::string_view event) {
    if (event == "after_evaluate") context.requests().stop("good enough");
    return absl::OkStatus();
  });
  loop_.requests.evaluate("eval");
  ASSERT_OK(loop_.server.serve_common());
  EXPECT_TRUE(loop_.server.stopped());
}

TEST_F(RequestServerTest, AnUnknownSetIsAnError) {
  loop_.requests.evaluate("evil");
  EXPECT_THAT(loop_.server.serve_common(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"eval\"")));
  EXPECT_FALSE(loop_.loop.consistency.holds());
}

TEST_F(RequestServerTest, ARanksStopComesBeforeWhatIsCommon) {
  loop_.make_step();
  loop_.requests.stop("signal SIGTERM", Scope::kThisRank);
  ASSERT_OK(exchange());
  EXPECT_THAT(loop_.server.serve_agreed(), IsOkAndHolds(true));
  EXPECT_TRUE(loop_.loop.stop.by_rank);
  loop_.requests.evaluate();
  ASSERT_OK(loop_.server.serve_common());
  EXPECT_THAT(served(), ElementsAre("stop signal SIGTERM"));
  ASSERT_OK(loop_.checkpoints.save_at_end());
  ASSERT_EQ(saved_.back().pending_size(), 1) << "the resuming run evaluates";
  EXPECT_EQ(saved_.back().pending(0).kind(), Request::kEvaluate);
}

TEST_F(RequestServerTest, ARankAsksOnceAStopWasServed) {
  loop_.requests.stop("signal SIGTERM", Scope::kThisRank);
  ASSERT_OK(exchange());
  ASSERT_OK(loop_.server.serve_agreed());
  loop_.requests.evaluate("eval", Scope::kThisRank);
  ASSERT_OK(exchange());
  EXPECT_THAT(loop_.server.serve_agreed(/*ending=*/true), IsOkAndHolds(false));
  RankState own;
  SharedState shared;
  loop_.requests.save(nullptr, &shared, &own);
  EXPECT_EQ(own.due_later_size(), 1);
}

// The checkpoint at the end of the run follows immediately.
TEST_F(RequestServerTest, AtTheLastStepTheCheckpointAtTheEndIsTheOneAskedFor) {
  loop_.make_step();
  loop_.position.progress.step = 5;
  EXPECT_TRUE(loop_.server.training_is_over());
  loop_.requests.checkpoint();
  ASSERT_OK(loop_.server.serve_common());
  EXPECT_THAT(saved_, IsEmpty());
  loop_.requests.evaluate_at_end();
  loop_.requests.checkpoint();
  ASSERT_OK(loop_.server.serve_common());
  EXPECT_EQ(saved_.size(), 1u) << "an evaluation lies between";
}

TEST_F(RequestServerTest, AtTheEndEachSetOnceForItsStep) {
  loop_.make_step();
  loop_.requests.evaluate_at_end();
  loop_.requests.evaluate();
  ASSERT_OK(loop_.server.serve_common());
  ASSERT_OK(loop_.server.serve_at_end());
  EXPECT_EQ(
      std::count(loop_.events.texts.begin(), loop_.events.texts.end(), "served evaluate eval"), 1);
  loop_.begin_run();
  loop_.make_step();
  loop_.requests.evaluate_at_end();
  ASSERT_OK(loop_.server.serve_at_end());
  EXPECT_THAT(served(), ElementsAre("checkpoint before the last evaluation", "evaluate eval"));
}

TEST_F(RequestServerTest, AFailedEvaluationIsMarkedAndDeferred) {
  loop_.make_step();
  loop_.add_hook([](HookContext&, absl::string_view event) {
    const bool evaluates = event == "eval:before_step";
    return evaluates ? absl::DataLossError("planted") : absl::OkStatus();
  });
  loop_.requests.evaluate();
  const absl::Status status = loop_.server.serve_common().status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("planted")));
  EXPECT_EQ(kind_of(status), FailureKind::kEvaluation);
  EXPECT_TRUE(loop_.evaluations.failed());
  EXPECT_EQ(loop_.context.phase(), Phase::kTrain);
  RankState own;
  SharedState shared;
  loop_.requests.save(nullptr, &shared, &own);
  EXPECT_EQ(shared.pending_size(), 1);
}

// An exchange between the batches of the evaluation carries the stop.
TEST_F(RequestServerTest, AStopAmidAnEvaluationEndsIt) {
  loop_.make_step();
  loop_.add_hook([](HookContext& context, absl::string_view event) {
    const bool evaluates = event == "eval:after_data(0)";
    if (evaluates) {
      context.requests().stop("signal SIGINT", Scope::kThisRank);
      context.requests().checkpoint(Scope::kThisRank);
    }
    return absl::OkStatus();
  });
  loop_.requests.evaluate();
  ASSERT_OK(loop_.server.serve_common());
  EXPECT_TRUE(loop_.loop.stop.by_rank);
  EXPECT_THAT(served(), Not(Contains(StartsWith("evaluate"))));
  RankState own;
  SharedState shared;
  loop_.requests.save(nullptr, &shared, &own);
  EXPECT_EQ(shared.pending_size(), 1) << "the evaluation is for the resuming run";
}

// A loop that keeps the best log loss of "eval", which is constant without training.
class BestScoreServerTest : public RequestServerTest {
 protected:
  explicit BestScoreServerTest(bool save_best = true)
      : best_loop_(
            [this](const TrainState& state, const auto&) {
              saved_.push_back(state.shared);
              return info(state);
            },
            {.report_at_end = false, .save_best = save_best},
            {.limits = {.max_steps = 5, .max_epochs = 0}},
            {.terms = {{"eval/logloss"}}, .higher_is_better = false}) {}
  std::vector<std::string> served() const {
    std::vector<std::string> served;
    for (const std::string& text : best_loop_.events.texts) {
      if (absl::StartsWith(text, "served ")) served.push_back(text.substr(7));
    }
    return served;
  }
  LoopParts best_loop_;
};

TEST_F(BestScoreServerTest, ANewBestIsSavedAtItsStep) {
  best_loop_.make_step();
  best_loop_.requests.evaluate();
  ASSERT_OK(best_loop_.server.serve_common());
  EXPECT_THAT(served(), ElementsAre("evaluate eval", "checkpoint of the best score"));
  ASSERT_EQ(saved_.size(), 1u);
  EXPECT_EQ(saved_[0].best().step(), 1);
  EXPECT_GT(saved_[0].best().value(), 0);
  EXPECT_EQ(saved_[0].best().score(), "eval/logloss, lower is better");
  best_loop_.make_step();
  best_loop_.requests.evaluate();
  ASSERT_OK(best_loop_.server.serve_common());
  EXPECT_EQ(saved_.size(), 1u) << "the same again is no better";
}

TEST_F(BestScoreServerTest, ACheckpointThatIsAskedForServesAsOne) {
  best_loop_.make_step();
  best_loop_.requests.checkpoint();
  best_loop_.requests.evaluate();
  ASSERT_OK(best_loop_.server.serve_common());
  EXPECT_THAT(served(), ElementsAre("evaluate eval", "checkpoint"));
  EXPECT_EQ(saved_.back().best().step(), 1);
}

TEST_F(BestScoreServerTest, TheCheckpointAtTheEndServesAsOne) {
  best_loop_.make_step();
  best_loop_.position.progress.step = 5;
  best_loop_.requests.evaluate();
  ASSERT_OK(best_loop_.server.serve_common());
  EXPECT_THAT(served(), ElementsAre("checkpoint before the last evaluation", "evaluate eval"));
  EXPECT_FALSE(saved_.back().has_best());
  ASSERT_OK(best_loop_.checkpoints.save_at_end());
  EXPECT_EQ(saved_.back().best().step(), 5);
}

TEST_F(BestScoreServerTest, AnEvaluationThatNoRequestLedTo) {
  best_loop_.make_step();
  ASSERT_OK_AND_ASSIGN(const std::optional<EvaluationResult> result,
                       best_loop_.server.evaluate(best_loop_.eval_data, named("eval")));
  ASSERT_OK(best_loop_.server.report_evaluation(*result));
  EXPECT_THAT(saved_, IsEmpty());
  ASSERT_OK(best_loop_.server.serve_common());
  EXPECT_THAT(served(), ElementsAre("checkpoint of the best score"));
  EXPECT_TRUE(best_loop_.loop.consistency.holds());
  ASSERT_OK(best_loop_.server.serve_common());
  EXPECT_EQ(saved_.size(), 1u);
}

TEST_F(BestScoreServerTest, OneRanksRequestLeadsToOneToo) {
  best_loop_.make_step();
  best_loop_.requests.evaluate("eval", Scope::kThisRank);
  ASSERT_OK(best_loop_.agreement.meet({"step", 1}, {}));
  ASSERT_OK(best_loop_.server.serve_agreed());
  EXPECT_THAT(served(), ElementsAre("evaluate eval", "checkpoint of the best score"));
}

class NoBestSavedTest : public BestScoreServerTest {
 protected:
  NoBestSavedTest() : BestScoreServerTest(/*save_best=*/false) {}
};

TEST_F(NoBestSavedTest, WhereCheckpointsAreSwitchedOff) {
  best_loop_.make_step();
  best_loop_.requests.evaluate();
  ASSERT_OK(best_loop_.server.serve_common());
  EXPECT_THAT(served(), ElementsAre("evaluate eval"));
  EXPECT_EQ(best_loop_.evaluations.best()->step, 1);
}

}  // namespace
}  // namespace millrace
