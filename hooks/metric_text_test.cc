#include "hooks/metric_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(MetricTextTest, OneOfTwoEqualTextsIsEnough) {
  EXPECT_TRUE(logloss_repeats_loss({{"logloss", 0.46834}, {"loss", 0.46831}}, 4));
  EXPECT_FALSE(logloss_repeats_loss({{"logloss", 0.46834}, {"loss", 0.46831}}, 5));
  EXPECT_FALSE(logloss_repeats_loss({{"logloss", 0.5}}, 4));
  EXPECT_FALSE(logloss_repeats_loss({{"loss", 0.5}}, 4));
}

}  // namespace
}  // namespace millrace
