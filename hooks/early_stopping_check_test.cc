#include "hooks/early_stopping_check.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

EarlyStoppingConfig config_of(const std::string& text) {
  EarlyStoppingConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

absl::Status check(const std::string& text) {
  return check_early_stopping("train.hooks[0]", config_of(text));
}

TEST(EarlyStoppingCheckTest, TheMetricGivesTheDirection) {
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/auc'")), true);
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/click/auc'")), true);
  for (const char* lower : {"'eval/loss'", "'train/logloss'", "'eval/buy/ne'"}) {
    EXPECT_EQ(higher_is_better(config_of(std::string("monitor: ") + lower)), false);
  }
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/mean'")), std::nullopt);
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/auc' mode: MIN")), false);
  EXPECT_EQ(higher_is_better(config_of("monitor: 'eval/mean' mode: MAX")), true);
}

TEST(EarlyStoppingCheckTest, AMetricWithoutDirectionNeedsAMode) {
  EXPECT_THAT(check("monitor: 'eval/calibration'"),
              StatusIs(kInvalid,
                       "train.hooks[0]: mode is missing; calibration has no direction, "
                       "so set it to MAX or MIN"));
  EXPECT_OK(check("monitor: 'eval/calibration' mode: MIN"));
  EXPECT_THAT(check("monitor: 'eval/auc' mode: MIN"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("mode is MIN, but higher values of eval/auc are better")));
}

TEST(EarlyStoppingCheckTest, MonitorsThatNameNoMetric) {
  EXPECT_THAT(check(""), StatusIs(kInvalid, HasSubstr("train.hooks[0]: monitor is missing")));
  for (const std::string monitor : {"auc", "eval/", "/auc", "eval//auc"}) {
    EXPECT_THAT(check("monitor: '" + monitor + "'"),
                StatusIs(kInvalid, HasSubstr("monitor is \"" + monitor + "\"; set it to SET/")));
  }
}

TEST(EarlyStoppingCheckTest, NumbersOutOfRangeAreFoundTogether) {
  EXPECT_THAT(check("monitor: 'eval/auc' patience: 0 min_change: -0.5 warmup: -2"),
              StatusIs(kInvalid, AllOf(HasSubstr("patience is 0; must be at least 1"),
                                       HasSubstr("min_change is -0.5; must be at least 0"),
                                       HasSubstr("warmup is -2; must be at least 0"))));
  EXPECT_OK(check("monitor: 'eval/auc' patience: 1 min_change: 0.5 warmup: 2"));
}

}  // namespace
}  // namespace millrace
