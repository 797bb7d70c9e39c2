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

TEST(MetricTextTest, NamesAndValues) {
  const std::map<std::string, double> same = {{"auc", 0.767}, {"logloss", 0.5}, {"loss", 0.5}};
  EXPECT_EQ(metrics_text(same, RepeatedLogloss::kShown),
            "  auc 0.76700  logloss 0.50000  loss 0.50000");
  EXPECT_EQ(metrics_text(same, RepeatedLogloss::kOmitted), "  auc 0.76700  loss 0.50000");
  const std::map<std::string, double> other = {{"logloss", 0.50001}, {"loss", 0.5}};
  EXPECT_EQ(metrics_text(other, RepeatedLogloss::kOmitted), "  logloss 0.50001  loss 0.50000");
}

}  // namespace
}  // namespace millrace
