#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "base/status_matchers.h"
#include "metrics/metric_conformance.h"
#include "metrics/threshold/threshold_metrics.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Shows the counts: tp + 10 fp + 100 tn + 1000 fn, over the number of examples.
class Counts : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;
  absl::string_view name() const override { return "counts"; }
  double compute() const override {
    const double all = counts().true_positives + counts().false_positives +
                       counts().true_negatives + counts().false_negatives;
    return ratio(counts().true_positives + 10 * counts().false_positives +
                     100 * counts().true_negatives + 1000 * counts().false_negatives,
                 all);
  }
};

double compute(const MetricExamples& examples, float threshold = 0.5f) {
  Counts metric(threshold);
  metric.update(examples.all());
  return metric.compute();
}

TEST(ThresholdMetricTest, CountsByHand) {
  const MetricExamples examples = {{0.9f, 0.8f, 0.1f, 0.2f}, {1, 0, 0, 1}, {}};
  EXPECT_DOUBLE_EQ(compute(examples), 1111.0 / 4);
  EXPECT_DOUBLE_EQ(compute(examples, 0), (2 + 20.0) / 4) << "all are predicted positive";
  EXPECT_DOUBLE_EQ(compute(examples, 1), (200 + 2000.0) / 4);
  EXPECT_DOUBLE_EQ(compute({{0.9f, 0.8f, 0.1f}, {1, 0, 0}, {2, 0, 6}}), (2 + 600.0) / 8);
}

TEST(ThresholdMetricTest, APredictionEqualToTheThresholdIsPositive) {
  EXPECT_EQ(compute({{0.5f}, {1}, {}}), 1);
  // 0.7 of float32 is below 0.7 of float64.
  EXPECT_EQ(compute({{0.7f}, {1}, {}}, 0.7f), 1);
  EXPECT_EQ(compute({{std::nextafter(0.7f, 0.0f)}, {1}, {}}, 0.7f), 1000);
}

TEST(ThresholdMetricTest, TheLabelIsPositiveAboveOneHalf) {
  EXPECT_EQ(compute({{1}, {0.5f}, {}}), 10);
  EXPECT_EQ(compute({{1}, {0.51f}, {}}), 1);
}

TEST(ThresholdMetricTest, NotANumber) {
  EXPECT_TRUE(std::isnan(compute({{kNan, 1}, {1, 1}, {}})));
  EXPECT_TRUE(std::isnan(compute({{1, 1}, {kNan, 1}, {}})));
  EXPECT_TRUE(std::isnan(compute({{1, 1}, {1, 1}, {kNan, 1}})));
  EXPECT_EQ(compute({{kNan, 1}, {kNan, 1}, {0, 1}}), 1) << "of weight 0";
}

TEST(ThresholdMetricTest, BytesOfAnotherThresholdAreRefused) {
  Counts low(0.25f), high(0.75f);
  EXPECT_THAT(high.merge_saved(low.save()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("threshold 0.25; the metric that reads it has 0.75")));
}

// A registered metric, its option, and its values over the examples of the test.
struct OptionCase {
  std::string name;
  decltype(&accuracy) option;
  double at_default;     // 2 true positives, 1 false positive, 1 false negative, 3 true negatives
  double at_two_fifths;  // 3 true positives, 1 false positive, 3 true negatives
};

class ThresholdOptionTest : public testing::TestWithParam<OptionCase> {};

TEST_P(ThresholdOptionTest, IsRead) {
  const auto& [name, option, at_default, at_two_fifths] = GetParam();
  const MetricExamples examples = {
      {0.9f, 0.6f, 0.7f, 0.4f, 0.1f, 0.2f, 0.3f}, {1, 1, 0, 1, 0, 0, 0}, {}};
  CustomConfig config;
  config.set_name(name);
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, create_metric(name, {config}));
  metric->update(examples.all());
  EXPECT_DOUBLE_EQ(metric->compute(), at_default);
  config.MutableExtension(*option)->set_threshold(0.4f);
  ASSERT_OK_AND_ASSIGN(metric, create_metric(name, {config}));
  metric->update(examples.all());
  EXPECT_DOUBLE_EQ(metric->compute(), at_two_fifths);
  config.MutableExtension(*option)->set_threshold(-1);
  EXPECT_THAT(
      create_metric(name, {config}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("threshold is -1; must be 0 to 1")));
}

INSTANTIATE_TEST_SUITE_P(All, ThresholdOptionTest,
                         testing::Values(OptionCase{"accuracy", &accuracy, 5.0 / 7, 6.0 / 7},
                                         OptionCase{"f1", &f1, 2.0 / 3, 6.0 / 7},
                                         OptionCase{"precision", &precision, 2.0 / 3, 3.0 / 4},
                                         OptionCase{"recall", &recall, 2.0 / 3, 1}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace millrace
