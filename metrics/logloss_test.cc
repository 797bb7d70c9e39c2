#include "metrics/logloss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

double compute(const MetricExamples& examples) {
  LogLossMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(LogLossTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.25f}, {1, 0}, {}}), (std::log(2) - std::log(0.75)) / 2);
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.25f}, {1, 0}, {3, 1}}),
                   (3 * std::log(2) - std::log(0.75)) / 4);
}

TEST(LogLossTest, LabelsBetween) {
  EXPECT_DOUBLE_EQ(compute({{0.5f}, {0.25f}, {}}), std::log(2));
  EXPECT_DOUBLE_EQ(log_loss(0.75, 0.5), -0.5 * std::log(0.75) - 0.5 * std::log(0.25));
}

TEST(LogLossTest, CertainMistakesAreFinite) {
  const double most = -std::log(kLogLossEpsilon);
  EXPECT_NEAR(compute({{0}, {1}, {}}), most, 1e-8);
  EXPECT_NEAR(compute({{1}, {0}, {}}), most, 1e-8);
  EXPECT_NEAR(compute({{1, 0}, {1, 0}, {}}), kLogLossEpsilon, 1e-12);
}

[[maybe_unused]] const bool kLogLoss =
    register_metric_conformance("LogLoss", [] { return std::make_unique<LogLossMetric>(); });

}  // namespace
}  // namespace millrace
