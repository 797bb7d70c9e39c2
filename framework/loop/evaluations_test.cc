#include "framework/loop/evaluations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/failure_kind.h"
#include "base/status_matchers.h"
#include "framework/loop/loop_parts_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class EvaluationsTest : public testing::Test {
 protected:
  Evaluations& evaluations() { return loop_.evaluations; }
  Dataset& data() { return loop_.eval_data; }
  absl::Status run() {
    EvaluationOptions options;
    options.name = "eval";
    ASSIGN_OR_RETURN(const Evaluated evaluated, evaluations().run(data(), options, true));
    if (!evaluated.result.has_value()) return absl::CancelledError("stopped");
    evaluations().note("eval");
    return absl::OkStatus();
  }
  LoopParts loop_{[](const TrainState&, const auto&) { return CheckpointInfo(); }};
};

TEST_F(EvaluationsTest, FindsSetsByName) {
  EXPECT_THAT(evaluations().names(), ElementsAre("eval"));
  EXPECT_OK(evaluations().find("eval").status());
  EXPECT_THAT(evaluations().find("evil").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"eval\"")));
  RequestSet twice;
  twice.add({Request::kEvaluate, "eval", "hook"});
  twice.add({Request::kEvaluate, "", "hook"});
  ASSERT_OK_AND_ASSIGN(const auto sets, evaluations().requested(twice));
  EXPECT_EQ(sets.size(), 1u) << "each once";
}

TEST_F(EvaluationsTest, AResultCountsAtItsStep) {
  EXPECT_FALSE(evaluations().is_current("eval"));
  ASSERT_OK(run());
  EXPECT_TRUE(evaluations().is_current("eval"));
  EXPECT_THAT(evaluations().current_metrics(),
              testing::Contains(Pair("eval/logloss", testing::Gt(0))));
  ++loop_.position.progress.step;
  EXPECT_FALSE(evaluations().is_current("eval"));
  EXPECT_THAT(evaluations().current_metrics(), IsEmpty());
}

TEST_F(EvaluationsTest, TheStepsGoIntoCheckpoints) {
  loop_.position.progress.step = 3;
  ASSERT_OK(run());
  SharedState state;
  evaluations().save(&state);
  LoopParts other([](const TrainState&, const auto&) { return CheckpointInfo(); });
  other.position.progress.step = 3;
  std::vector<std::string> notes;
  other.evaluations.restore(state, &notes);
  EXPECT_TRUE(other.evaluations.is_current("eval"));
  EXPECT_THAT(other.evaluations.current_metrics(), IsEmpty());
  other.evaluations.restore_metrics({{"eval/auc", 0.75}});
  EXPECT_THAT(other.evaluations.current_metrics(), ElementsAre(Pair("eval/auc", 0.75)));
  other.evaluations.forget();
  EXPECT_FALSE(other.evaluations.is_current("eval"));
  EXPECT_THAT(other.evaluations.current_metrics(), IsEmpty());
}

TEST_F(EvaluationsTest, NothingOfTheLoopHasChangedAfterwards) {
  ASSERT_OK(run());
  EXPECT_EQ(loop_.context.phase(), Phase::kTrain);
  EXPECT_EQ(loop_.position.progress.step, 0);
  EXPECT_FALSE(evaluations().failed());
}

TEST_F(EvaluationsTest, AFailureIsMarkedUntilTheNextRun) {
  loop_.add_hook([](HookContext&, absl::string_view event) {
    const bool fails = event == "eval:before_step";
    return fails ? absl::DataLossError("planted") : absl::OkStatus();
  });
  const absl::Status status = run();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss, HasSubstr("evaluating \"eval\"")));
  EXPECT_EQ(kind_of(status), FailureKind::kEvaluation);
  EXPECT_TRUE(evaluations().failed());
  EXPECT_EQ(loop_.context.phase(), Phase::kTrain);
  evaluations().begin_run();
  EXPECT_FALSE(evaluations().failed());
}

TEST_F(EvaluationsTest, OnItsOwnAFailureIsThatOfTheRun) {
  loop_.context.begin_run(Phase::kEvaluate);
  loop_.add_hook([](HookContext&, absl::string_view event) {
    return event == "eval:before_step" ? absl::DataLossError("planted") : absl::OkStatus();
  });
  EXPECT_FALSE(run().ok());
  EXPECT_FALSE(evaluations().failed());
}

TEST_F(EvaluationsTest, AStopEndsItAndHandsOverWhatWasAskedFor) {
  loop_.add_hook([](HookContext& context, absl::string_view event) {
    if (event != "eval:after_data(0)") return absl::OkStatus();
    context.requests().stop("signal", Scope::kThisRank);
    context.requests().checkpoint(Scope::kThisRank);
    return absl::OkStatus();
  });
  ASSERT_OK_AND_ASSIGN(const Evaluated evaluated, evaluations().run(data(), {}, true));
  EXPECT_FALSE(evaluated.result.has_value());
  EXPECT_TRUE(evaluated.asked.has(Request::kStop));
  EXPECT_TRUE(evaluated.asked.has(Request::kCheckpoint));
}

}  // namespace
}  // namespace millrace
