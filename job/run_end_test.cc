#include "job/run_end.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Progress at_step_20() {
  Progress progress;
  progress.step = 20;
  progress.epoch = 2;
  progress.window = 3;
  progress.elapsed = absl::Milliseconds(1500);
  return progress;
}

TEST(RunEndTest, LimitsAreNamedWithWhatTheyStandAt) {
  TrainConfig config;
  config.set_max_epochs(0);
  EXPECT_THAT(reached_limits(config, at_step_20()), IsEmpty()) << "0 is no limit";
  config.set_max_steps(21);
  config.set_max_epochs(3);
  config.set_max_windows(4);
  config.set_max_seconds(2);
  EXPECT_THAT(reached_limits(config, at_step_20()), IsEmpty()) << "there is a step to make";
  config.set_max_steps(20);
  EXPECT_THAT(reached_limits(config, at_step_20()), ElementsAre("train.max_steps is 20"));
  config.set_max_steps(10);
  config.set_max_epochs(2);
  config.set_max_windows(1);
  config.set_max_seconds(1);
  EXPECT_THAT(reached_limits(config, at_step_20()),
              ElementsAre("train.max_steps is 10, but this run stands at step 20 already",
                          "train.max_epochs is 2",
                          "train.max_windows is 1, but this run stands at window 3 already",
                          "train.max_seconds is 1, and this run has trained for 1.5 s"));
}

TEST(RunEndTest, WhatIsToBeDoneFollowsFromWhatEndedIt) {
  TrainConfig config;
  config.set_max_epochs(0);
  config.set_max_steps(10);
  EXPECT_EQ(
      finished_text(config, at_step_20(), "completed"),
      "finished before (completed) after 20 steps; train.max_steps is 10, but this run stands "
      "at step 20 already: raise it to go on");
  config.set_max_epochs(2);
  EXPECT_THAT(finished_text(config, at_step_20(), "completed"), HasSubstr("raise them to go on"));
  EXPECT_THAT(finished_text(config, at_step_20(), "stopped: no gain"),
              AllOf(HasSubstr("finished before (stopped: no gain) after 20 steps"),
                    HasSubstr("--resume=PATH"), Not(HasSubstr("raise"))));
  config.clear_max_steps();
  config.set_max_epochs(0);
  EXPECT_THAT(finished_text(config, at_step_20(), "completed"),
              AllOf(HasSubstr("the data, which had no more"), Not(HasSubstr("raise"))));
}

TEST(RunEndTest, NoEpochFollowsAStream) {
  TrainConfig config;
  config.mutable_train_data()->mutable_windows()->mutable_directory();
  config.set_max_epochs(1);
  EXPECT_THAT(finished_text(config, at_step_20(), "completed"),
              AllOf(HasSubstr("the data, which had no more"), Not(HasSubstr("raise"))));
  config.set_max_windows(3);
  EXPECT_THAT(finished_text(config, at_step_20(), "completed"),
              AllOf(HasSubstr("train.max_windows is 3: raise it"), Not(HasSubstr("max_epochs"))));
  config.clear_max_windows();
  config.mutable_train_data()->mutable_windows()->mutable_list();
  EXPECT_THAT(finished_text(config, at_step_20(), "completed"),
              HasSubstr("train.max_epochs is 1, but this run stands at epoch 2 already: raise it"))
      << "a list begins again";
}

TEST(RunEndTest, ARunWithoutAStep) {
  TrainConfig config;
  config.set_max_epochs(0);
  EXPECT_EQ(no_step_text(config, at_step_20()),
            "no step was made: training was at its end already (step 20, epoch 2)");
  config.set_max_steps(10);
  EXPECT_EQ(no_step_text(config, at_step_20()),
            "no step was made: training was at its end already (step 20, epoch 2): train.max_steps "
            "is 10, but this run stands at step 20 already");
}

}  // namespace
}  // namespace millrace
