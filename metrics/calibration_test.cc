#include "metrics/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

double compute(const MetricExamples& examples) {
  CalibrationMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(CalibrationTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.25f, 0.75f}, {1, 0, 0}, {}}), 1.5);
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.25f}, {1, 0}, {1, 4}}), 1.5);
  EXPECT_EQ(compute({{0, 0}, {1, 0}, {}}), 0);
}

TEST(CalibrationTest, UndefinedWithoutPositives) {
  EXPECT_TRUE(std::isnan(compute({{0.5f}, {0}, {}})));
}

[[maybe_unused]] const bool kCalibration = register_metric_conformance(
    "Calibration", [] { return std::make_unique<CalibrationMetric>(); });

}  // namespace
}  // namespace millrace
