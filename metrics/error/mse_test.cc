#include <gtest/gtest.h>

#include <cmath>

#include "metrics/error/error_metrics.h"
#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

double compute(const MetricExamples& examples) {
  MseMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(MseTest, ByHand) {
  // Errors 3, -1 and 0.
  EXPECT_DOUBLE_EQ(compute({{4, 1, 0.5f}, {1, 2, 0.5f}, {}}), 10.0 / 3);
  EXPECT_DOUBLE_EQ(compute({{4, 1, 0.5f}, {1, 2, 0.5f}, {1, 2, 1}}), 11.0 / 4);
  EXPECT_EQ(compute({{0.25f}, {0.25f}, {}}), 0);
}

TEST(MseTest, UndefinedWithoutExamples) { EXPECT_TRUE(std::isnan(compute({{1}, {1}, {0}}))); }

[[maybe_unused]] const bool kMse =
    register_metric_conformance("Mse", [] { return std::make_unique<MseMetric>(); });

}  // namespace
}  // namespace millrace
