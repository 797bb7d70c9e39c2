#include "framework/loop/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Progress kAtStep20 = {
    .step = 20, .epoch = 2, .window = 3, .elapsed = absl::Milliseconds(1500)};

TEST(LimitsTest, ZeroIsNoLimit) {
  const Limits none = {.max_epochs = 0};
  EXPECT_FALSE(limit_reached(none, kAtStep20));
  EXPECT_FALSE(time_is_up(none, kAtStep20));
  EXPECT_THAT(reached_limits(none, kAtStep20), IsEmpty());
}

TEST(LimitsTest, OneIsEnough) {
  const Limits beyond = {
      .max_steps = 21, .max_epochs = 3, .max_windows = 4, .max_elapsed = absl::Seconds(2)};
  EXPECT_FALSE(limit_reached(beyond, kAtStep20));
  EXPECT_THAT(reached_limits(beyond, kAtStep20), IsEmpty());
  Limits limits = beyond;
  limits.max_steps = 20;
  EXPECT_TRUE(limit_reached(limits, kAtStep20));
  limits = beyond;
  limits.max_epochs = 2;
  EXPECT_TRUE(limit_reached(limits, kAtStep20));
  limits = beyond;
  limits.max_windows = 1;
  EXPECT_TRUE(limit_reached(limits, kAtStep20));
  EXPECT_FALSE(time_is_up(limits, kAtStep20));
  limits = beyond;
  limits.max_elapsed = absl::Milliseconds(1500);
  EXPECT_TRUE(limit_reached(limits, kAtStep20));
  EXPECT_TRUE(time_is_up(limits, kAtStep20));
}

TEST(LimitsTest, EachIsNamedWithWhatItStandsAt) {
  EXPECT_THAT(reached_limits({.max_steps = 20, .max_epochs = 0}, kAtStep20),
              ElementsAre("train.max_steps is 20"));
  EXPECT_THAT(
      reached_limits(
          {.max_steps = 10, .max_epochs = 2, .max_windows = 1, .max_elapsed = absl::Seconds(1)},
          kAtStep20),
      ElementsAre("train.max_steps is 10, but this run stands at step 20 already",
                  "train.max_epochs is 2",
                  "train.max_windows is 1, but this run stands at window 3 already",
                  "train.max_seconds is 1, and this run has trained for 1.5 s"));
}

}  // namespace
}  // namespace millrace
