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
  MapAtMetric metric(name);
  metric.update(examples.all());
  return metric.compute();
}

TEST(MapAtTest, ByHand) {
  // Group 1 has relevant examples at ranks 2 and 3, group 2 at rank 1, group 3 none.
  EXPECT_DOUBLE_EQ(compute("map@1", kExamples), (0.0 + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("map@2", kExamples), (0.5 / 2 + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("map@4", kExamples), ((1.0 / 2 + 2.0 / 3) / 2 + 1) / 2);
}

TEST(MapAtTest, ATieIsTheMeanOverItsOrders) {
  // The relevant one of three is at ranks 1, 2 and 3: precisions 1, 1/2 and 1/3.
  const MetricExamples examples = {{0.5f, 0.5f, 0.5f}, {0, 1, 0}, {}, {5, 5, 5}};
  EXPECT_DOUBLE_EQ(compute("map@3", examples), (1 + 1.0 / 2 + 1.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(compute("map@2", examples), (1 + 1.0 / 2) / 3);
}

[[maybe_unused]] const bool kMapAt =
    register_metric_conformance("MapAt", [] { return std::make_unique<MapAtMetric>("map@2"); });

}  // namespace
}  // namespace millrace
