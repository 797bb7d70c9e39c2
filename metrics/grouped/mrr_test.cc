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
  MrrMetric metric(name);
  metric.update(examples.all());
  return metric.compute();
}

TEST(MrrTest, ByHand) {
  // The first relevant example is at rank 2 in group 1 and at rank 1 in group 2; group 3 has none.
  EXPECT_DOUBLE_EQ(compute("mrr", kExamples), (1.0 / 2 + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("mrr@2", kExamples), (1.0 / 2 + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("mrr@1", kExamples), (0.0 + 1) / 2);
}

TEST(MrrTest, ATieIsTheMeanOverItsOrders) {
  // The relevant one of three is at ranks 1, 2 and 3.
  const MetricExamples one = {{0.5f, 0.5f, 0.5f}, {0, 1, 0}, {}, {5, 5, 5}};
  EXPECT_DOUBLE_EQ(compute("mrr", one), (1 + 1.0 / 2 + 1.0 / 3) / 3);
  EXPECT_DOUBLE_EQ(compute("mrr@2", one), (1 + 1.0 / 2) / 3);
  // The first of two relevant ones is at rank 1 in two of three choices, else at rank 2.
  const MetricExamples two = {{0.5f, 0.5f, 0.5f}, {1, 1, 0}, {}, {5, 5, 5}};
  EXPECT_DOUBLE_EQ(compute("mrr", two), (2 * 1.0 + 1.0 / 2) / 3);
}

[[maybe_unused]] const bool kMrr =
    register_metric_conformance("Mrr", [] { return std::make_unique<MrrMetric>("mrr"); });

}  // namespace
}  // namespace millrace
