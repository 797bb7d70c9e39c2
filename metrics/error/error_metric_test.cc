#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "metrics/error/error_metrics.h"
#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

// The mean of prediction - label.
class Bias : public ErrorMetric {
 public:
  absl::string_view name() const override { return "bias"; }

 private:
  double cost(double error) const override { return error; }
};

double compute(const MetricExamples& examples) {
  Bias metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(ErrorMetricTest, TheErrorIsThePredictionMinusTheLabel) {
  EXPECT_DOUBLE_EQ(compute({{3, 5}, {1, 6}, {}}), 0.5);
  EXPECT_DOUBLE_EQ(compute({{3, 5}, {1, 6}, {3, 1}}), 1.25);
}

TEST(ErrorMetricTest, TheDifferenceIsOneOfFloat64) {
  // 16777216 + 1 is 16777216 in float32.
  EXPECT_DOUBLE_EQ(compute({{16777216}, {-1}, {}}), 16777217);
}

TEST(ErrorMetricTest, NotANumber) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(compute({{1, 2}, {1, nan}, {}})));
  EXPECT_EQ(compute({{1, 2}, {1, nan}, {1, 0}}), 0) << "of weight 0";
  EXPECT_TRUE(std::isnan(compute({})));
}

[[maybe_unused]] const bool kBias =
    register_metric_conformance("Bias", [] { return std::make_unique<Bias>(); });

}  // namespace
}  // namespace millrace
