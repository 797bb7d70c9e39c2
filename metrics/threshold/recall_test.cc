#include "metrics/threshold/recall.h"

#include <cmath>

#include "base/status_matchers.h"
#include "metrics/metric_conformance.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

double compute(const MetricExamples& examples, float threshold = 0.5f) {
  RecallMetric metric(threshold);
  metric.update(examples.all());
  return metric.compute();
}

// At 0.5: 2 true positives, 1 false positive, 1 false negative, 3 true negatives.
const MetricExamples kExamples = {
    {0.9f, 0.6f, 0.7f, 0.4f, 0.1f, 0.2f, 0.3f}, {1, 1, 0, 1, 0, 0, 0}, {}};

TEST(RecallTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute(kExamples), 2.0 / 3);
  EXPECT_DOUBLE_EQ(compute(kExamples, 0.4f), 1);
  EXPECT_DOUBLE_EQ(compute({{0.9f, 0.1f}, {1, 1}, {3, 1}}), 0.75);
}

TEST(RecallTest, UndefinedWithoutPositives) {
  EXPECT_TRUE(std::isnan(compute({{0.9f, 0.2f}, {0, 0}, {}})));
  EXPECT_TRUE(std::isnan(compute({{0.9f, 0.2f}, {1, 0}, {0, 1}})));
  EXPECT_EQ(compute({{0.1f, 0.2f}, {1, 0}, {}}), 0);
}

TEST(RecallTest, TheThresholdIsAnOption) {
  CustomConfig config;
  EXPECT_OK(RecallMetric::create(config));
  config.MutableExtension(recall)->set_threshold(-1);
  EXPECT_THAT(RecallMetric::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("threshold is -1; it must be from 0 to 1")));
  config.MutableExtension(recall)->set_threshold(0.4f);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, RecallMetric::create(config));
  metric->update(kExamples.all());
  EXPECT_DOUBLE_EQ(metric->compute(), compute(kExamples, 0.4f));
  EXPECT_NE(metric->compute(), compute(kExamples));
}

[[maybe_unused]] const bool kRecall =
    register_metric_conformance("Recall", [] { return std::make_unique<RecallMetric>(0.5f); });

}  // namespace
}  // namespace millrace
