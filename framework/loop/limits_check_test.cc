#include "framework/loop/limits_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

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
