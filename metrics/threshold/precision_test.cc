#include "metrics/threshold/precision.h"

#include <cmath>

#include "base/status_matchers.h"
#include "metrics/metric_conformance.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

double compute(const MetricExamples& examples, float threshold = 0.5f) {
  PrecisionMetric metric(threshold);
  metric.update(examples.all());
  return metric.compute();
}

// At 0.5: 2 true positives, 1 false positive, 1 false negative, 3 true negatives.
const MetricExamples kExamples = {
    {0.9f, 0.6f, 0.7f, 0.4f, 0.1f, 0.2f, 0.3f}, {1, 1, 0, 1, 0, 0, 0}, {}};

TEST(PrecisionTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute(kExamples), 2.0 / 3);
  EXPECT_DOUBLE_EQ(compute(kExamples, 0.65f), 1.0 / 2);
  EXPECT_DOUBLE_EQ(compute({{0.9f, 0.8f}, {1, 0}, {3, 1}}), 0.75);
}

TEST(PrecisionTest, UndefinedWithoutPositiveDecisions) {
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.2f}, {1, 0}, {}})));
  EXPECT_EQ(compute({{0.9f, 0.2f}, {0, 0}, {}}), 0) << "one class is no reason";
}

TEST(PrecisionTest, TheThresholdIsAnOption) {
  CustomConfig config;
  EXPECT_OK(PrecisionMetric::create(config));
  config.MutableExtension(precision)->set_threshold(-1);
  EXPECT_THAT(PrecisionMetric::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("threshold is -1; it must be from 0 to 1")));
  config.MutableExtension(precision)->set_threshold(0.4f);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, PrecisionMetric::create(config));
  metric->update(kExamples.all());
  EXPECT_DOUBLE_EQ(metric->compute(), compute(kExamples, 0.4f));
  EXPECT_NE(metric->compute(), compute(kExamples));
}

[[maybe_unused]] const bool kPrecision = register_metric_conformance(
    "Precision", [] { return std::make_unique<PrecisionMetric>(0.5f); });

}  // namespace
}  // namespace millrace
