#include "metrics/metric_direction.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "metrics/metric.h"

namespace millrace {
namespace {

TEST(MetricDirectionTest, OfEveryMetric) {
  const std::map<std::string, MetricDirection> expected = {
      {"mae", MetricDirection::kLowerIsBetter},
      {"mse", MetricDirection::kLowerIsBetter},
      {"rmse", MetricDirection::kLowerIsBetter},
      {"accuracy", MetricDirection::kHigherIsBetter},
      {"f1", MetricDirection::kHigherIsBetter},
      {"precision", MetricDirection::kHigherIsBetter},
      {"recall", MetricDirection::kHigherIsBetter},
      {"auc", MetricDirection::kHigherIsBetter},
      {"auc_buckets", MetricDirection::kHigherIsBetter},
      {"calibration_error", MetricDirection::kLowerIsBetter},
      {"calibration", MetricDirection::kNone},
      {"logloss", MetricDirection::kLowerIsBetter},
      {"mean", MetricDirection::kNone},
      {"ne", MetricDirection::kLowerIsBetter},
      {"pr_auc", MetricDirection::kHigherIsBetter},
  };
  for (const std::string& name : metric_names()) {
    ASSERT_EQ(expected.count(name), 1) << "a new metric needs a decision: " << name;
    EXPECT_EQ(direction_of_metric(name), expected.at(name)) << name;
  }
}

TEST(MetricDirectionTest, OfMonitors) {
  EXPECT_EQ(direction_of_monitor("eval/auc"), MetricDirection::kHigherIsBetter);
  EXPECT_EQ(direction_of_monitor("eval/buy/ne"), MetricDirection::kLowerIsBetter);
  EXPECT_EQ(direction_of_monitor("auc/mean"), MetricDirection::kNone);
  EXPECT_EQ(direction_of_monitor("loss"), MetricDirection::kLowerIsBetter);
}

TEST(MetricDirectionTest, OfTheLossAndOfOtherNames) {
  EXPECT_EQ(direction_of_metric("loss"), MetricDirection::kLowerIsBetter);
  EXPECT_EQ(direction_of_metric("acu"), MetricDirection::kNone);
  EXPECT_EQ(direction_of_metric(""), MetricDirection::kNone);
}

}  // namespace
}  // namespace millrace
