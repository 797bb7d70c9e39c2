#include "metrics/pr_auc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

double compute(const MetricExamples& examples) {
  PrAucMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(PrAucTest, ByHand) {
  // Thresholds 0.8, 0.6, 0.4, 0.2: precision 1, 1/2, 2/4, 2/5; recall 1/2, 1/2, 1, 1.
  EXPECT_DOUBLE_EQ(compute({{0.8f, 0.6f, 0.4f, 0.4f, 0.2f}, {1, 0, 1, 0, 0}, {}}), 0.75);
  EXPECT_DOUBLE_EQ(compute({{0.1f, 0.9f}, {0, 1}, {}}), 1);
  EXPECT_DOUBLE_EQ(compute({{0.9f, 0.1f}, {0, 1}, {}}), 0.5);
}

TEST(PrAucTest, WeightsByHand) {
  // Thresholds 0.6, 0.5: precision 0, 2/3.
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.6f}, {1, 0}, {2, 1}}), 2.0 / 3);
}

TEST(PrAucTest, AllTiedIsTheShareOfPositives) {
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.5f, 0.5f, 0.5f}, {0, 1, 0, 0}, {}}), 0.25);
}

TEST(PrAucTest, OneClass) {
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, 0}, {}})));
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, 1}, {1, 0}})));
  EXPECT_DOUBLE_EQ(compute({{0.1f, 0.9f}, {1, 1}, {}}), 1);
}

TEST(PrAucTest, OrderDoesNotMatterToTheLastBit) {
  MetricExamples examples = random_examples(1, 500, true);
  const double expected = compute(examples);
  std::reverse(examples.predictions.begin(), examples.predictions.end());
  std::reverse(examples.labels.begin(), examples.labels.end());
  std::reverse(examples.weights.begin(), examples.weights.end());
  EXPECT_EQ(compute(examples), expected);
}

[[maybe_unused]] const bool kPrAuc =
    register_metric_conformance("PrAuc", [] { return std::make_unique<PrAucMetric>(); });

}  // namespace
}  // namespace millrace
