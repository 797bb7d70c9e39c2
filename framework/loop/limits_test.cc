#include "framework/loop/limits.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
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

absl::Status check(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return check_limits("t", train);
}

TEST(LimitsCheckTest, ZeroIsNoLimit) {
  EXPECT_OK(check(""));
  EXPECT_OK(check("max_steps: 0 max_epochs: 0 max_seconds: 0 max_windows: 0 micro_batches: 1"));
}

TEST(LimitsCheckTest, NegativeLimitsAreRefused) {
  for (const char* field : {"max_steps", "max_epochs", "max_steps_per_epoch", "max_windows",
                            "max_steps_per_window", "max_evaluation_steps"}) {
    EXPECT_THAT(check(absl::StrCat(field, ": -1")),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         absl::StrCat("t: ", field, " is -1; must be at least 0")));
  }
  EXPECT_THAT(check("max_seconds: inf"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "t: max_seconds is inf; must be at least 0 and finite"));
  EXPECT_THAT(check("micro_batches: 0"), StatusIs(absl::StatusCode::kInvalidArgument,
                                                  "t: micro_batches is 0; must be at least 1"));
}

}  // namespace

}  // namespace millrace
