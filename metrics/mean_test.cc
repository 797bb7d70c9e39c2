#include "metrics/mean.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

TEST(MeanTest, OfValues) {
  MeanMetric mean;
  mean.add(1);
  mean.add(4, 2);
  EXPECT_DOUBLE_EQ(mean.compute(), 3);
  mean.add(1000, 0);
  EXPECT_DOUBLE_EQ(mean.compute(), 3);
}

TEST(MeanTest, OfPredictions) {
  const MetricExamples examples{{0.5f, 0.25f}, {1, 0}, {1, 3}};
  MeanMetric mean;
  mean.update(examples.all());
  EXPECT_DOUBLE_EQ(mean.compute(), 1.25 / 4);
}

TEST(MeanTest, SmallValuesAreNotLostInLargeSums) {
  // A sum in float32 would stop at 2^24.
  MeanMetric mean;
  for (int i = 0; i < (1 << 25); ++i) mean.add(1);
  EXPECT_EQ(mean.compute(), 1);
}

[[maybe_unused]] const bool kMean =
    register_metric_conformance("Mean", [] { return std::make_unique<MeanMetric>(); });

}  // namespace
}  // namespace millrace
