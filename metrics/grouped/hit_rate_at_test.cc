#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "metrics/grouped/ranking_metrics.h"
#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

// Sorted by prediction, group 1 has the labels 0, 1, 1, 0, group 2 has 1, 0, and group 3 has 0.
const MetricExamples kExamples = {
    {0.1f, 0.9f, 0.8f, 0.3f, 0.2f, 0.7f, 0.6f},
    {0, 0, 1, 0, 0, 1, 1},
    {},
    {3, 1, 1, 1, 2, 2, 1},
};

double compute(const std::string& name, const MetricExamples& examples) {
  HitRateAtMetric metric(name);
  metric.update(examples.all());
  return metric.compute();
}

TEST(HitRateAtTest, ByHand) {
  // Group 1 has a relevant example at rank 2, group 2 at rank 1, group 3 none.
  EXPECT_DOUBLE_EQ(compute("hit_rate@1", kExamples), 1.0 / 2);
  EXPECT_DOUBLE_EQ(compute("hit_rate@2", kExamples), 1);
}

TEST(HitRateAtTest, ATieIsTheMeanOverItsOrders) {
  // One of four examples is relevant: it is among the first two in half of the orders.
  EXPECT_DOUBLE_EQ(compute("hit_rate@2", {{1, 1, 1, 1}, {0, 1, 0, 0}, {}, {5, 5, 5, 5}}), 0.5);
  // Two of four are: none of them is among the first two in 1 of 6 choices.
  EXPECT_DOUBLE_EQ(compute("hit_rate@2", {{1, 1, 1, 1}, {1, 1, 0, 0}, {}, {5, 5, 5, 5}}), 5.0 / 6);
}

[[maybe_unused]] const bool kHitRateAt = register_metric_conformance(
    "HitRateAt", [] { return std::make_unique<HitRateAtMetric>("hit_rate@2"); });

}  // namespace
}  // namespace millrace
