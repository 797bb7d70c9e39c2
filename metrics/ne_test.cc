#include "metrics/ne.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

double compute(const MetricExamples& examples) {
  NormalizedEntropyMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(NormalizedEntropyTest, PredictingTheMeanIsOne) {
  EXPECT_DOUBLE_EQ(compute({{0.25f, 0.25f, 0.25f, 0.25f}, {0, 0, 1, 0}, {}}), 1);
}

TEST(NormalizedEntropyTest, ByHand) {
  // Mean label 1/2, so the entropy is ln 2.
  EXPECT_DOUBLE_EQ(compute({{0.75f, 0.5f}, {1, 0}, {}}),
                   (-std::log(0.75) + std::log(2)) / 2 / std::log(2));
  // Weights make the mean label 3/4.
  const double entropy = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.5f}, {1, 0}, {3, 1}}), std::log(2) / entropy);
}

TEST(NormalizedEntropyTest, UndefinedWithoutBothClasses) {
  EXPECT_TRUE(std::isnan(compute({{0.5f, 0.5f}, {1, 1}, {}})));
  EXPECT_TRUE(std::isnan(compute({{0.5f, 0.5f}, {0, 0}, {}})));
}

[[maybe_unused]] const bool kNormalizedEntropy = register_metric_conformance(
    "NormalizedEntropy", [] { return std::make_unique<NormalizedEntropyMetric>(); });

}  // namespace
}  // namespace millrace
