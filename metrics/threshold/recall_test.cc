#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_conformance.h"
#include "metrics/threshold/threshold_metrics.h"

namespace millrace {
namespace {

double compute(const MetricExamples& examples, float threshold = 0.5f) {
  RecallMetric metric(threshold);
  metric.update(examples.all());
  return metric.compute();
}

// At 0.5: 2 true positives, 1 false positive, 1 false negative, 3 true negatives.
const MetricExamples kExamples = {
    {0.9f, 0.6f, 0.7f, 0.4f, 0.1f, 0.2f, 0.3f}, {1, 1, 0, 1, 0, 0, 0}, {}};

TEST(RecallTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute(kExamples), 2.0 / 3);
  EXPECT_DOUBLE_EQ(compute(kExamples, 0.4f), 1);
  EXPECT_DOUBLE_EQ(compute({{0.9f, 0.1f}, {1, 1}, {3, 1}}), 0.75);
}

TEST(RecallTest, UndefinedWithoutPositives) {
  EXPECT_TRUE(std::isnan(compute({{0.9f, 0.2f}, {0, 0}, {}})));
  EXPECT_TRUE(std::isnan(compute({{0.9f, 0.2f}, {1, 0}, {0, 1}})));
  EXPECT_EQ(compute({{0.1f, 0.2f}, {1, 0}, {}}), 0);
}

[[maybe_unused]] const bool kRecall =
    register_metric_conformance("Recall", [] { return std::make_unique<RecallMetric>(0.5f); });

}  // namespace
}  // namespace millrace
