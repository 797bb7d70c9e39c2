#include "framework/loop/checkpoint_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "framework/loop/loop_parts_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

class CheckpointKeeperTest : public testing::Test {
 protected:
  absl::StatusOr<CheckpointInfo> save(const TrainState& state,
                                      const std::map<std::string, double>& metrics) {
    states_.push_back(state.shared);
    metrics_ = metrics;
    if (!failure_.ok()) return failure_;
    return CheckpointInfo{absl::StrCat("step-", state.shared.progress().step()),
                          {.step = state.shared.progress().step()}};
  }

  LoopParts loop_{
      [this](const TrainState& state, const auto& metrics) { return save(state, metrics); }};
  absl::Status failure_;
  std::vector<SharedState> states_;
  std::map<std::string, double> metrics_;
};

TEST_F(CheckpointKeeperTest, ASaveIsDurableReportedAndRecorded) {
  loop_.add_hook([](HookContext&, absl::string_view) { return absl::OkStatus(); });
  loop_.make_step();
  RequestSet asked;
  asked.add({Request::kCheckpoint, "", "hook"});
  ASSERT_OK(loop_.checkpoints.save(asked, Scope::kCommon));
  EXPECT_EQ(loop_.checkpoints.newest(), "step-1");
  EXPECT_THAT(loop_.hook_events, ElementsAre("after_checkpoint"));
  EXPECT_THAT(loop_.events.texts, ElementsAre("served checkpoint"));
  EXPECT_FALSE(loop_.checkpoints.save_failed());
}

TEST_F(CheckpointKeeperTest, AFailureIsNamedAndTheNextSaveMaySucceed) {
  failure_ = absl::ResourceExhaustedError("no room");
  EXPECT_THAT(
      loop_.checkpoints.save({}, Scope::kThisRank),
      StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("making a checkpoint: no room")));
  EXPECT_TRUE(loop_.checkpoints.save_failed());
  EXPECT_EQ(loop_.checkpoints.newest(), "");
  failure_ = absl::OkStatus();
  EXPECT_OK(loop_.checkpoints.save({}, Scope::kThisRank));
  EXPECT_FALSE(loop_.checkpoints.save_failed());
}

TEST_F(CheckpointKeeperTest, ACommonStopIsForTheResumingRunUntilTheEnd) {
  loop_.make_step();
  loop_.loop.stop = {.stopped = true, .by_rank = false, .reason = "enough"};
  ASSERT_OK(loop_.checkpoints.save({}, Scope::kCommon));
  ASSERT_EQ(states_.back().pending_size(), 1);
  EXPECT_EQ(states_.back().pending(0).detail(), "enough");
  EXPECT_FALSE(states_.back().finished());
  ASSERT_OK(loop_.checkpoints.save_at_end());
  EXPECT_EQ(states_.back().pending_size(), 0);
  EXPECT_TRUE(states_.back().finished());
  EXPECT_EQ(states_.back().stop_reason(), "enough");
  EXPECT_EQ(loop_.checkpoints.finished(), "stopped: enough");
}

TEST_F(CheckpointKeeperTest, AStopOfOneRankLeavesTrainingUnfinished) {
  loop_.make_step();
  loop_.loop.stop = {.stopped = true, .by_rank = true, .reason = "signal SIGTERM"};
  ASSERT_OK(loop_.checkpoints.save_at_end());
  EXPECT_EQ(states_.back().pending_size(), 0);
  EXPECT_FALSE(states_.back().finished());
  EXPECT_EQ(loop_.checkpoints.finished(), std::nullopt);
}

TEST_F(CheckpointKeeperTest, ARunWithoutAStepSavesNothingAtItsEnd) {
  EXPECT_FALSE(loop_.checkpoints.will_save_at_end());
  ASSERT_OK(loop_.checkpoints.save_at_end());
  EXPECT_THAT(states_, IsEmpty());
  loop_.make_step();
  EXPECT_TRUE(loop_.checkpoints.will_save_at_end());
  ASSERT_OK(loop_.checkpoints.save_at_end());
  EXPECT_EQ(states_.size(), 1u);
  EXPECT_THAT(loop_.events.texts, ElementsAre("served checkpoint at the end"));
}

TEST_F(CheckpointKeeperTest, TheLastSaveIsRepeatedOnceIfItWasDropped) {
  loop_.make_step();
  loop_.saver->is_asynchronous = true;
  for (const int drops : {0, 1, 2}) {
    loop_.saver->drops = drops;
    states_.clear();
    const absl::Status status = loop_.checkpoints.save_at_end();
    EXPECT_EQ(states_.size(), drops == 0 ? 1u : 2u);
    if (drops < 2) {
      EXPECT_OK(status);
      continue;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("both attempts")));
  }
}

TEST_F(CheckpointKeeperTest, BeforeTheLastEvaluationOnceForEachStep) {
  loop_.make_step();
  RequestSet asked;
  asked.add({Request::kEvaluate, "eval", "hook"});
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(loop_.checkpoints.save_before_evaluation(asked, Scope::kCommon, /*at_end=*/false));
  }
  ASSERT_EQ(states_.size(), 1u);
  ASSERT_EQ(states_[0].pending_size(), 1) << "it may fail: the resuming run evaluates";
  EXPECT_EQ(states_[0].pending(0).detail(), "eval");
  loop_.make_step();
  ASSERT_OK(loop_.checkpoints.save_before_evaluation(asked, Scope::kCommon, /*at_end=*/true));
  EXPECT_EQ(states_.back().pending_size(), 0) << "hooks ask again at the start";
}

TEST_F(CheckpointKeeperTest, AfterAFailureOnlyAConsistentStateIsSaved) {
  loop_.checkpoints.save_after_failure();
  EXPECT_THAT(states_, IsEmpty()) << "no step was made";
  loop_.make_step();
  (void)loop_.loop.consistency.suspend([] { return absl::InternalError("half a step"); });
  loop_.checkpoints.save_after_failure();
  EXPECT_THAT(states_, IsEmpty());
  loop_.loop.consistency.begin_run();
  loop_.checkpoints.save_after_failure();
  EXPECT_EQ(states_.size(), 1u);
  EXPECT_THAT(loop_.events.texts, ElementsAre("served checkpoint after the failure"));
}

TEST_F(CheckpointKeeperTest, AfterASaveThatFailedThereIsNoOther) {
  loop_.make_step();
  failure_ = absl::UnavailableError("disk");
  EXPECT_FALSE(loop_.checkpoints.save({}, Scope::kCommon).ok());
  loop_.checkpoints.save_after_failure();
  EXPECT_EQ(states_.size(), 1u);
}

TEST_F(CheckpointKeeperTest, MetricsOfThisStepGoWithIt) {
  loop_.make_step();
  ASSERT_OK_AND_ASSIGN(const auto result, loop_.server.evaluate(loop_.eval_data, named("eval")));
  ASSERT_OK(loop_.server.report_evaluation(*result));
  ASSERT_OK(loop_.checkpoints.save({}, Scope::kCommon));
  EXPECT_THAT(metrics_, testing::Contains(Pair("eval/logloss", testing::_)));
  loop_.make_step();
  ASSERT_OK(loop_.checkpoints.save({}, Scope::kCommon));
  EXPECT_THAT(metrics_, IsEmpty());
}

TEST_F(CheckpointKeeperTest, FinishedDependsOnTodaysLimits) {
  LoopParts limited([](const TrainState&, const auto&) { return CheckpointInfo(); }, {},
                    {.limits = {.max_steps = 2, .max_epochs = 0}});
  EXPECT_EQ(limited.checkpoints.finished(), std::nullopt);
  limited.position.finished = true;
  EXPECT_EQ(limited.checkpoints.finished(), std::nullopt) << "the limit was lower then";
  limited.position.progress.step = 2;
  EXPECT_EQ(limited.checkpoints.finished(), "completed");
  limited.position.data_ended = true;
  EXPECT_EQ(limited.checkpoints.finished(), std::nullopt) << "the epoch is still to be completed";
}

TEST_F(CheckpointKeeperTest, WithoutASourceThereIsNothingToReload) {
  EXPECT_THAT(loop_.checkpoints.reload(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no model bank")));
  EXPECT_OK(loop_.checkpoints.load_model_bank(nullptr));
  EXPECT_THAT(loop_.checkpoints.load_left_out({"a"}, {}), IsOkAndHolds(ElementsAre("a")));
}

TEST_F(CheckpointKeeperTest, BetweenRunsNoHookIsNotified) {
  loop_.add_hook([](HookContext&, absl::string_view) { return absl::OkStatus(); });
  loop_.requests.evaluate();
  ASSERT_OK_AND_ASSIGN(const CheckpointInfo info, loop_.checkpoints.save_between_runs());
  EXPECT_EQ(info.path, "step-0");
  EXPECT_EQ(loop_.checkpoints.newest(), "step-0");
  EXPECT_THAT(loop_.hook_events, IsEmpty());
  EXPECT_EQ(states_.back().pending_size(), 0) << "asked for outside a run";
}

TEST_F(CheckpointKeeperTest, ARunThatCouldNotOpenTheFolderSavesNothing) {
  loop_.saver->open_status = absl::FailedPreconditionError("locked by another run");
  EXPECT_FALSE(loop_.checkpoints.open().ok());
  EXPECT_EQ(loop_.checkpoints.steps_begun(), 0);
  loop_.checkpoints.save_after_failure();
  EXPECT_THAT(states_, IsEmpty());
}

TEST_F(CheckpointKeeperTest, BetweenRunsHalfAStepIsNotSaved) {
  (void)loop_.loop.consistency.suspend([] { return absl::InternalError("half a step"); });
  EXPECT_THAT(loop_.checkpoints.save_between_runs().status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("amid a step")));
  EXPECT_THAT(states_, IsEmpty());
}

}  // namespace
}  // namespace millrace
