#include "framework/loop/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/status_matchers.h"

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

TEST(LimitsTest, LimitsOfARunCountFromItsStart) {
  const Limits totals = {.max_steps = 25, .max_epochs = 0, .max_elapsed = absl::Seconds(2)};
  ASSERT_OK_AND_ASSIGN(Limits limits, limits_of_run(totals, {}, kAtStep20));
  EXPECT_EQ(limits.max_steps, 25);
  EXPECT_EQ(limits.max_epochs, 0);
  EXPECT_EQ(limits.max_elapsed, absl::Seconds(2));
  ASSERT_OK_AND_ASSIGN(limits, limits_of_run(totals,
                                             {.max_steps = 3,
                                              .max_epochs = 1,
                                              .max_windows = 2,
                                              .max_elapsed = absl::Milliseconds(100)},
                                             kAtStep20));
  EXPECT_EQ(limits.max_steps, 23);
  EXPECT_EQ(limits.max_epochs, 3);
  EXPECT_EQ(limits.max_windows, 5);
  EXPECT_EQ(limits.max_elapsed, absl::Milliseconds(1600));
  ASSERT_OK_AND_ASSIGN(limits, limits_of_run(totals,
                                             {.max_steps = std::numeric_limits<int64_t>::max(),
                                              .max_epochs = std::numeric_limits<int64_t>::max(),
                                              .max_elapsed = absl::InfiniteDuration()},
                                             kAtStep20));
  EXPECT_EQ(limits.max_steps, 25) << "the total is earlier";
  EXPECT_EQ(limits.max_epochs, 0) << "beyond int64";
  EXPECT_EQ(limits.max_elapsed, absl::Seconds(2));
  EXPECT_THAT(limits_of_run(totals, {.max_steps = -1}, kAtStep20),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace

}  // namespace millrace
