#include "framework/loop/evaluations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/failure_kind.h"
#include "base/status_matchers.h"
#include "framework/loop/loop_parts_testing.h"
#include "tests/fakes/fake_windowed_dataset.h"

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

PairedEvaluation paired() {
  return PairedEvaluation(
      {"later", std::make_unique<FakeWindowedDataset>(FakeDatasetOptions{},
                                                      std::vector<FakeWindow>{{2}, {3}, {1}})});
}

// Evaluates the next window for a training window. Returns the number of batches in the window; -1:
// no window is ready.
int64_t evaluate(PairedEvaluation& set, int64_t training_window) {
  const auto stream = set.stream();
  EXPECT_OK(stream.status());
  const auto state = (*stream)->next_window();
  EXPECT_OK(state.status());
  if (state->kind != WindowState::kReady) return -1;
  EXPECT_OK(set.open_window().start_epoch(0));
  int64_t batches = 0;
  while (true) {
    const auto batch = set.open_window().next();
    EXPECT_OK(batch.status());
    if (!batch.ok() || !batch->has_value()) break;
    ++batches;
  }
  set.evaluated(state->window, training_window);
  return batches;
}

TEST(PairedEvaluationTest, OneWindowForEachOfTraining) {
  PairedEvaluation set = paired();
  EXPECT_FALSE(set.was_evaluated(0));
  EXPECT_EQ(evaluate(set, 0), 2);
  EXPECT_TRUE(set.was_evaluated(0));
  EXPECT_FALSE(set.was_evaluated(1));
  EXPECT_EQ(evaluate(set, 1), 3);
  EXPECT_EQ(evaluate(set, 2), 1);
  EXPECT_EQ(evaluate(set, 3), -1);
}

TEST(PairedEvaluationTest, GoesOnFromItsState) {
  PairedEvaluation set = paired();
  ObjectState begin;
  ASSERT_OK(set.save_state(begin));
  EXPECT_TRUE(begin.empty());
  evaluate(set, 0);
  ObjectState state;
  ASSERT_OK(set.save_state(state));
  PairedEvaluation other = paired();
  ASSERT_OK(other.load_state({&state, 1}));
  EXPECT_TRUE(other.was_evaluated(0));
  EXPECT_EQ(evaluate(other, 1), 3);
  ASSERT_OK(other.load_state({&begin, 1}));
  EXPECT_EQ(evaluate(other, 0), 2) << "from its begin again";
}

TEST(PairedEvaluationTest, DamagedStateIsRefused) {
  PairedEvaluation set = paired();
  const ObjectState damaged{.version = 1, .bytes = "\xff\xff"};
  EXPECT_THAT(set.load_state({&damaged, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  const ObjectState other{.version = 2, .bytes = ""};
  EXPECT_THAT(set.load_state({&other, 1}), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(evaluate(set, 0), 2);
}

}  // namespace
}  // namespace millrace
