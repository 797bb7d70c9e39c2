#include "framework/loop/limits.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

const Progress kAtStep20 = {
    .step = 20, .epoch = 2, .window = 3, .elapsed = absl::Milliseconds(1500)};

TEST(LimitsTest, ZeroIsNoLimit) {
  const Limits none = {.max_epochs = 0};
  EXPECT_FALSE(limit_reached(none, kAtStep20));
  EXPECT_FALSE(time_is_up(none, kAtStep20));
}

TEST(LimitsTest, OneIsEnough) {
  const Limits beyond = {
      .max_steps = 21, .max_epochs = 3, .max_windows = 4, .max_elapsed = absl::Seconds(2)};
  EXPECT_FALSE(limit_reached(beyond, kAtStep20));
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

}  // namespace

}  // namespace millrace
