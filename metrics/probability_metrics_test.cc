#include "metrics/probability_metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

template <typename MetricType>
double compute(const MetricExamples& examples) {
  MetricType metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(LogLossTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute<LogLossMetric>({{0.5f, 0.25f}, {1, 0}, {}}),
                   (std::log(2) - std::log(0.75)) / 2);
  EXPECT_DOUBLE_EQ(compute<LogLossMetric>({{0.5f, 0.25f}, {1, 0}, {3, 1}}),
                   (3 * std::log(2) - std::log(0.75)) / 4);
}

TEST(LogLossTest, LabelsBetween) {
  EXPECT_DOUBLE_EQ(compute<LogLossMetric>({{0.5f}, {0.25f}, {}}), std::log(2));
  EXPECT_DOUBLE_EQ(log_loss(0.75, 0.5), -0.5 * std::log(0.75) - 0.5 * std::log(0.25));
}

TEST(LogLossTest, CertainMistakesAreFinite) {
  const double most = -std::log(kLogLossEpsilon);
  EXPECT_NEAR(compute<LogLossMetric>({{0}, {1}, {}}), most, 1e-8);
  EXPECT_NEAR(compute<LogLossMetric>({{1}, {0}, {}}), most, 1e-8);
  EXPECT_NEAR(compute<LogLossMetric>({{1, 0}, {1, 0}, {}}), kLogLossEpsilon, 1e-12);
}

[[maybe_unused]] const bool kLogLoss =
    register_metric_conformance("LogLoss", [] { return std::make_unique<LogLossMetric>(); });

TEST(NormalizedEntropyTest, PredictingTheMeanIsOne) {
  EXPECT_DOUBLE_EQ(
      compute<NormalizedEntropyMetric>({{0.25f, 0.25f, 0.25f, 0.25f}, {0, 0, 1, 0}, {}}), 1);
}

TEST(NormalizedEntropyTest, ByHand) {
  // Mean label 1/2, so the entropy is ln 2.
  EXPECT_DOUBLE_EQ(compute<NormalizedEntropyMetric>({{0.75f, 0.5f}, {1, 0}, {}}),
                   (-std::log(0.75) + std::log(2)) / 2 / std::log(2));
  // Weights make the mean label 3/4.
  const double entropy = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
  EXPECT_DOUBLE_EQ(compute<NormalizedEntropyMetric>({{0.5f, 0.5f}, {1, 0}, {3, 1}}),
                   std::log(2) / entropy);
}

TEST(NormalizedEntropyTest, UndefinedWithoutBothClasses) {
  EXPECT_TRUE(std::isnan(compute<NormalizedEntropyMetric>({{0.5f, 0.5f}, {1, 1}, {}})));
  EXPECT_TRUE(std::isnan(compute<NormalizedEntropyMetric>({{0.5f, 0.5f}, {0, 0}, {}})));
}

[[maybe_unused]] const bool kNormalizedEntropy = register_metric_conformance(
    "NormalizedEntropy", [] { return std::make_unique<NormalizedEntropyMetric>(); });

TEST(CalibrationTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute<CalibrationMetric>({{0.5f, 0.25f, 0.75f}, {1, 0, 0}, {}}), 1.5);
  EXPECT_DOUBLE_EQ(compute<CalibrationMetric>({{0.5f, 0.25f}, {1, 0}, {1, 4}}), 1.5);
  EXPECT_EQ(compute<CalibrationMetric>({{0, 0}, {1, 0}, {}}), 0);
}

TEST(CalibrationTest, UndefinedWithoutPositives) {
  EXPECT_TRUE(std::isnan(compute<CalibrationMetric>({{0.5f}, {0}, {}})));
}

[[maybe_unused]] const bool kCalibration = register_metric_conformance(
    "Calibration", [] { return std::make_unique<CalibrationMetric>(); });

}  // namespace
}  // namespace millrace
