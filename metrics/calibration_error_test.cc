#include "metrics/calibration_error.h"

#include <cmath>
#include <limits>

#include "base/status_matchers.h"
#include "metrics/metric_conformance.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

double compute(const MetricExamples& examples, int64_t buckets) {
  CalibrationErrorMetric metric(buckets);
  metric.update(examples.all());
  return metric.compute();
}

TEST(CalibrationErrorTest, ByHand) {
  // (0, 1/2]: predictions 0.25 and 0.5, labels 0 and 1, a gap of -0.25. (1/2, 1]: 0.75 and 1.
  const MetricExamples examples = {{0.25f, 0.5f, 0.75f}, {0, 1, 1}, {}};
  EXPECT_DOUBLE_EQ(compute(examples, 2), (0.25 + 0.25) / 3);
  // Now 0.25 and 0.5 have buckets of their own.
  EXPECT_DOUBLE_EQ(compute(examples, 4), (0.25 + 0.5 + 0.25) / 3);
  EXPECT_DOUBLE_EQ(compute({{0.25f, 0.5f, 0.75f}, {0, 1, 1}, {2, 1, 5}}, 2), (0 + 1.25) / 8);
}

TEST(CalibrationErrorTest, GapsOfOneBucketCancel) {
  EXPECT_EQ(compute({{0.75f, 0.75f, 0.75f, 0.75f}, {1, 1, 0, 1}, {}}, 20), 0);
  EXPECT_DOUBLE_EQ(compute({{0, 1}, {1, 0}, {}}, 20), 1);
  EXPECT_EQ(compute({{0, 1}, {1, 0}, {}}, 1), 0);
}

TEST(CalibrationErrorTest, Undefined) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(compute({{0.5f}, {1}, {0}}, 20)));
  EXPECT_TRUE(std::isnan(compute({{0.5f, 0.5f}, {NAN, 1}, {}}, 20)));
  EXPECT_TRUE(std::isnan(compute({{infinity, 0.5f}, {1, 1}, {}}, 20)));
  EXPECT_EQ(compute({{0.5f, 0.5f}, {NAN, 1}, {0, 1}}, 20), 0.5) << "of weight 0";
  EXPECT_EQ(compute({{0.5f, 0.5f}, {1, 1}, {}}, 20), 0.5) << "one class";
}

TEST(CalibrationErrorTest, TheNumberOfBucketsIsAnOption) {
  CustomConfig config;
  config.set_name("calibration_error");
  const auto create = [&] { return create_metric(config.name(), {config}); };
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, create());
  EXPECT_OK(CalibrationErrorMetric(20).merge_saved(metric->save())) << "the default";
  config.MutableExtension(calibration_error)->set_buckets(7);
  ASSERT_OK_AND_ASSIGN(metric, create());
  EXPECT_THAT(CalibrationErrorMetric(8).merge_saved(metric->save()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("buckets 7; the metric that reads it has 8")));
  config.MutableExtension(calibration_error)->set_buckets(-1);
  EXPECT_THAT(create(), StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr("buckets is -1; must be 1 to 1000000")));
}

[[maybe_unused]] const bool kCalibrationError = register_metric_conformance(
    "CalibrationError", [] { return std::make_unique<CalibrationErrorMetric>(20); });

}  // namespace
}  // namespace millrace
