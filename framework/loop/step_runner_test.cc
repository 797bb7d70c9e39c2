#include "framework/loop/step_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"
#include "framework/loop/loop_parts_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A step without computation and without a decision of the ranks.
class IdleStep : public TrainStep {
 public:
  absl::StatusOr<StepResult> run(const TrainStepParts&, const StepInput&, StepObserver&) override {
    return StepResult();
  }
};

class StepRunnerTest : public testing::Test {
 protected:
  // Runs the next step of the trainer's data, with the exchange that the loop begins.
  absl::StatusOr<StepResult> run() { return run(loop_.steps); }
  absl::StatusOr<StepResult> run(StepRunner& steps) {
    RETURN_IF_ERROR(loop_.parts.train_data->start_epoch(0));
    ASSIGN_OR_RETURN(const std::unique_ptr<StepData> data, loop_.feed.next_step());
    loop_.agreement.start({"step", loop_.position.steps_done() + 1}, {});
    return steps.run(*data, data->examples);
  }
  // Adds a hook that fails in one event.
  void fail_in(const std::string& event) {
    loop_.add_hook([this, event](HookContext&, absl::string_view now) {
      return fails_ && now == event ? absl::DataLossError("planted") : absl::OkStatus();
    });
  }
  bool fails_ = true;
  LoopParts loop_{[](const TrainState&, const auto&) { return CheckpointInfo(); }};
};

TEST_F(StepRunnerTest, FiresTheEventsInsideAStep) {
  fail_in("none");
  ASSERT_OK_AND_ASSIGN(const StepResult result, run());
  EXPECT_TRUE(result.applied);
  EXPECT_GT(result.examples, 0);
  EXPECT_THAT(loop_.hook_events, ElementsAre("before_step", "after_data(0)", "after_backward"));
  EXPECT_OK(loop_.steps.after_backward_status());
}

TEST_F(StepRunnerTest, AFailureBeforeTheDecisionNamesTheStepAndUpdatesNothing) {
  for (const char* event : {"before_step", "after_data(0)"}) {
    SCOPED_TRACE(event);
    LoopParts fresh([](const TrainState&, const auto&) { return CheckpointInfo(); });
    fresh.add_hook([event](HookContext&, absl::string_view now) {
      return now == event ? absl::DataLossError("planted") : absl::OkStatus();
    });
    const at::Tensor before = fresh.model.model_parts.parameters[0].value.detach().clone();
    ASSERT_OK(fresh.parts.train_data->start_epoch(0));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<StepData> data, fresh.feed.next_step());
    fresh.agreement.start({"step", 1}, {});
    EXPECT_THAT(fresh.steps.run(*data, data->examples).status(),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("step 1: ")));
    EXPECT_TRUE(fresh.model.model_parts.parameters[0].value.equal(before));
  }
}

TEST_F(StepRunnerTest, WhatAfterBackwardFailedWithIsKeptUntilTheNextStep) {
  fail_in("after_backward");
  ASSERT_OK_AND_ASSIGN(const StepResult result, run());
  EXPECT_TRUE(result.applied) << "other ranks update already";
  EXPECT_THAT(loop_.steps.after_backward_status(), StatusIs(absl::StatusCode::kDataLoss));
  fails_ = false;
  ASSERT_OK(run());
  EXPECT_OK(loop_.steps.after_backward_status());
}

TEST_F(StepRunnerTest, ATrainStepMustAskTheRanks) {
  StepRunner steps({loop_.model, loop_.commit, loop_.hooks, loop_.context},
                   std::make_unique<IdleStep>(), /*seed=*/1, PrecisionConfig());
  EXPECT_THAT(run(steps).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("did not call the commit exchange")));
}

}  // namespace
}  // namespace millrace
