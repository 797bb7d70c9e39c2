#include "framework/loop/loop_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace millrace {
namespace {

class Events : public EventLog {
 public:
  void record(const LoopEvent& event) override { all.push_back(event); }
  std::vector<LoopEvent> all;
};

class LoopRecorderTest : public testing::Test {
 protected:
  Events events_;
  LoopState loop_;
  LoopRecorder recorder_{&events_, loop_, /*rank=*/1, /*world_size=*/3};
};

TEST_F(LoopRecorderTest, ARunIsFramed) {
  loop_.position.progress.examples = 100;
  loop_.position.progress.elapsed = absl::Seconds(5);
  recorder_.begin_run("train");
  loop_.position.progress.examples = 160;
  loop_.position.progress.elapsed = absl::Seconds(7);
  recorder_.end_run(absl::OkStatus(), -1, {});
  const Summary& summary = recorder_.summary();
  EXPECT_EQ(summary.outcome, Outcome::kCompleted);
  EXPECT_EQ(summary.examples_this_run, 60);
  EXPECT_EQ(summary.elapsed_this_run, absl::Seconds(2));
  EXPECT_EQ(summary.world_size, 3);
  ASSERT_EQ(events_.all.size(), 2u);
  EXPECT_EQ(events_.all[0].kind, LoopEvent::kStarted);
  EXPECT_EQ(events_.all[0].what, "train");
  EXPECT_EQ(events_.all[0].world_size, 3);
  EXPECT_EQ(events_.all[1].kind, LoopEvent::kEnded);
  EXPECT_EQ(events_.all[1].what, "completed");
}

TEST_F(LoopRecorderTest, ARunNamesItsCheckpointAndWhatItOpens) {
  recorder_.begin_run("train", "out/checkpoints/step-00000004");
  recorder_.opened("window", "2026-01-31");
  recorder_.closed("window", "2026-01-31");
  ASSERT_EQ(events_.all.size(), 3u);
  EXPECT_EQ(events_.all[0].detail, "out/checkpoints/step-00000004");
  EXPECT_EQ(events_.all[1].kind, LoopEvent::kOpened);
  EXPECT_EQ(events_.all[2].kind, LoopEvent::kClosed);
  EXPECT_EQ(events_.all[2].what, "window");
  EXPECT_EQ(events_.all[2].detail, "2026-01-31");
}

TEST_F(LoopRecorderTest, EvictionsAreRowsByReason) {
  recorder_.begin_run("train");
  Report report;
  report.progress.step = 7;
  report.steps = 4;
  report.metrics = {{"auc", 0.75}};
  report.tables["users"].rows = 1;
  report.tables["items"].evicted = {{"idle_steps", 30}, {"limit", 2}};
  recorder_.reported(report);
  EXPECT_EQ(recorder_.summary().train.at("auc"), 0.75);
  EXPECT_EQ(recorder_.summary().train_report.step, 7);
  EXPECT_EQ(recorder_.summary().train_report.steps, 4);
  ASSERT_EQ(events_.all.size(), 2u);
  EXPECT_EQ(events_.all[1].kind, LoopEvent::kEvicted);
  EXPECT_EQ(events_.all[1].what, "items");
  EXPECT_EQ(events_.all[1].detail, "idle_steps 30, limit 2");
}

TEST_F(LoopRecorderTest, AStopHasAReason) {
  recorder_.begin_run("train");
  loop_.stop = {.stopped = true, .by_rank = true, .reason = "signal"};
  recorder_.end_run(absl::OkStatus(), -1, {});
  EXPECT_EQ(recorder_.summary().outcome, Outcome::kStopped);
  EXPECT_EQ(recorder_.summary().stop_reason, "signal");
  EXPECT_TRUE(recorder_.summary().stopped_by_rank);
  EXPECT_EQ(events_.all.back().what, "stopped");
  EXPECT_EQ(events_.all.back().detail, "signal");
}

TEST_F(LoopRecorderTest, AFailureNamesTheRankThatFailed) {
  for (const int failed : {2, -1}) {
    events_.all.clear();
    recorder_.begin_run("evaluate");
    recorder_.end_run(absl::DataLossError("damaged"), failed, {});
    EXPECT_EQ(recorder_.summary().outcome, Outcome::kFailed);
    EXPECT_EQ(recorder_.summary().error, "damaged");
    ASSERT_EQ(events_.all.size(), 3u);
    EXPECT_EQ(events_.all[1].kind, LoopEvent::kFailed);
    EXPECT_EQ(events_.all[1].what, "evaluate");
    EXPECT_EQ(events_.all[1].rank, failed == -1 ? 1 : failed);
    EXPECT_EQ(events_.all[2].what, "failed");
    EXPECT_EQ(events_.all[2].rank, 1);
  }
}

TEST_F(LoopRecorderTest, RequestsOfASingleRankCarryItsNumber) {
  RequestSet set;
  set.add({Request::kEvaluate, "eval", "hook", 2});
  set.add({Request::kReload, "", "hook", 2});
  recorder_.requested(set, Scope::kThisRank);
  recorder_.served(Request::kReload, set, Scope::kCommon);
  ASSERT_EQ(events_.all.size(), 3u);
  EXPECT_EQ(events_.all[0].what, "evaluate");
  EXPECT_EQ(events_.all[0].rank, 2);
  EXPECT_EQ(events_.all[0].detail, "eval");
  EXPECT_EQ(events_.all[2].kind, LoopEvent::kServed);
  EXPECT_EQ(events_.all[2].what, "reload");
  EXPECT_EQ(events_.all[2].rank, 1) << "common: every rank asked";
}

TEST_F(LoopRecorderTest, ARefusedStepSaysWhy) {
  recorder_.refused_step("the loss");
  ASSERT_EQ(events_.all.size(), 1u);
  EXPECT_EQ(events_.all[0].kind, LoopEvent::kRefused);
  EXPECT_EQ(events_.all[0].what, "step");
  EXPECT_EQ(events_.all[0].detail, "the loss");
}

TEST(LoopRecorder, WithoutALogOnlyTheSummaryIsKept) {
  LoopState loop;
  LoopRecorder recorder(nullptr, loop, 0, 1);
  recorder.begin_run("train");
  recorder.served("checkpoint", "at the end");
  recorder.dropped_examples(2);
  recorder.dropped_examples(3);
  recorder.end_run(absl::OkStatus(), -1, {.steps_begun = 3});
  EXPECT_EQ(recorder.summary().steps_begun, 3);
  EXPECT_EQ(recorder.summary().dropped_examples, 5);
  recorder.begin_run("train");
  EXPECT_EQ(recorder.summary().steps_begun, 0) << "of this run";
  EXPECT_EQ(recorder.summary().dropped_examples, 0) << "of this run";
}

}  // namespace
}  // namespace millrace
