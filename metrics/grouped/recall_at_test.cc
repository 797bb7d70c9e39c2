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
  RecallAtMetric metric(name);
  metric.update(examples.all());
  return metric.compute();
}

TEST(RecallAtTest, ByHand) {
  // Group 1 has relevant examples at ranks 2 and 3, group 2 at rank 1, group 3 none.
  EXPECT_DOUBLE_EQ(compute("recall@1", kExamples), (0.0 + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("recall@2", kExamples), (0.5 + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("recall@3", kExamples), 1);
}

TEST(RecallAtTest, ATieIsTheMeanOverItsOrders) {
  // Rank 1 is relevant; of the tie at ranks 2 to 4, with two relevant ones, 2/3 come to rank 2.
  const MetricExamples examples = {{1, 0.5f, 0.5f, 0.5f}, {1, 1, 1, 0}, {}, {5, 5, 5, 5}};
  EXPECT_DOUBLE_EQ(compute("recall@2", examples), (1 + 2.0 / 3) / 3);
}

[[maybe_unused]] const bool kRecallAt = register_metric_conformance(
    "RecallAt", [] { return std::make_unique<RecallAtMetric>("recall@2"); });

}  // namespace
}  // namespace millrace
