#include "metrics/metric_direction.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "metrics/metric.h"

namespace millrace {
namespace {

TEST(MetricDirectionTest, OfEveryMetric) {
  const std::map<std::string, MetricDirection> expected = {
      {"accuracy", MetricDirection::kHigherIsBetter},
      {"auc", MetricDirection::kHigherIsBetter},
      {"auc_buckets", MetricDirection::kHigherIsBetter},
      {"calibration", MetricDirection::kNone},
      {"calibration_error", MetricDirection::kLowerIsBetter},
      {"f1", MetricDirection::kHigherIsBetter},
      {"gauc", MetricDirection::kHigherIsBetter},
      {"hit_rate_at", MetricDirection::kHigherIsBetter},
      {"logloss", MetricDirection::kLowerIsBetter},
      {"mae", MetricDirection::kLowerIsBetter},
      {"map_at", MetricDirection::kHigherIsBetter},
      {"mean", MetricDirection::kNone},
      {"mrr", MetricDirection::kHigherIsBetter},
      {"mse", MetricDirection::kLowerIsBetter},
      {"ndcg_at", MetricDirection::kHigherIsBetter},
      {"ne", MetricDirection::kLowerIsBetter},
      {"pr_auc", MetricDirection::kHigherIsBetter},
      {"precision", MetricDirection::kHigherIsBetter},
      {"recall", MetricDirection::kHigherIsBetter},
      {"recall_at", MetricDirection::kHigherIsBetter},
      {"rmse", MetricDirection::kLowerIsBetter},
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
