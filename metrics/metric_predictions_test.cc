#include "metrics/metric_predictions.h"

#include <gtest/gtest.h>

#include "metrics/metric.h"

namespace millrace {
namespace {

TEST(MetricPredictionsTest, MetricsOfProbabilities) {
  int of_probabilities = 0;
  for (const std::string& name : metric_names()) of_probabilities += needs_probabilities(name);
  EXPECT_EQ(of_probabilities, 9);
  for (const char* decision : {"accuracy", "f1", "precision", "recall"}) {
    EXPECT_TRUE(needs_probabilities(decision)) << decision;
  }
  EXPECT_TRUE(needs_probabilities("auc_buckets"));
  EXPECT_TRUE(needs_probabilities("calibration_error"));
  EXPECT_TRUE(needs_probabilities("logloss"));
  EXPECT_TRUE(needs_probabilities("ne"));
  EXPECT_TRUE(needs_probabilities("calibration"));
  EXPECT_FALSE(needs_probabilities("auc"));
  EXPECT_FALSE(needs_probabilities("mean"));
  EXPECT_FALSE(needs_probabilities("mse"));
}

}  // namespace
}  // namespace millrace
