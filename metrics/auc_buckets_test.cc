#include "metrics/auc_buckets.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/status_matchers.h"
#include "metrics/auc.h"
#include "metrics/metric_conformance.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

AucBucketsMetric metric_of(const MetricExamples& examples, int64_t buckets) {
  AucBucketsMetric metric(buckets);
  metric.update(examples.all());
  return metric;
}

double exact(const MetricExamples& examples) {
  AucMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(AucBucketsTest, ByHand) {
  // One bucket for each of (0, 1/2] and (1/2, 1]: positives 2 and 1 of weight 1, negatives 1 and 1.
  // Pairs won: 1 * 1 + 2 * 1/2 + 1 * 1/2 of 6.
  const AucBucketsMetric metric =
      metric_of({{0.9f, 0.5f, 0.3f, 0.4f, 0.6f}, {1, 1, 1, 0, 0}, {}}, 2);
  EXPECT_DOUBLE_EQ(metric.compute(), 2.5 / 6);
  EXPECT_DOUBLE_EQ(metric.error_bound(), 3.0 / 12);
}

TEST(AucBucketsTest, DecisionsAtThresholds) {
  const AucBucketsMetric metric = metric_of({{0, 0.5f, 0.25f, 1}, {1, 0, 1, 1}, {1, 2, 4, 8}}, 4);
  const std::optional<ThresholdWeights> weights = metric.threshold_weights();
  ASSERT_TRUE(weights.has_value());
  EXPECT_EQ(weights->thresholds, std::vector<double>({0, 0.25, 0.5, 0.75, 1}));
  EXPECT_EQ(weights->true_positives, std::vector<double>({13, 8, 8, 8, 0}));
  EXPECT_EQ(weights->false_positives, std::vector<double>({2, 2, 0, 0, 0}));
  EXPECT_EQ(weights->true_negatives, std::vector<double>({0, 0, 2, 2, 2}));
  EXPECT_EQ(weights->false_negatives, std::vector<double>({0, 5, 5, 5, 13}));
}

TEST(AucBucketsTest, OneBucketIsOneHalf) {
  const AucBucketsMetric metric = metric_of({{0.9f, 0.1f}, {1, 0}, {}}, 1);
  EXPECT_EQ(metric.compute(), 0.5);
  EXPECT_EQ(metric.error_bound(), 0.5) << "which is reached: the exact value is 1";
}

TEST(AucBucketsTest, EqualsTheExactValueWherePredictionsHaveBucketsOfTheirOwn) {
  // The grid of the examples has 32 steps.
  for (const bool weighted : {false, true}) {
    const MetricExamples examples = random_examples(3, 300, weighted);
    EXPECT_NEAR(metric_of(examples, 32).compute(), exact(examples), 1e-14);
  }
}

TEST(AucBucketsTest, TheErrorIsWithinItsBound) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (const bool weighted : {false, true}) {
      MetricExamples examples = random_examples(seed, 4 + 100 * seed, weighted);
      for (size_t i = 0; i < examples.predictions.size(); ++i) {
        // Off the grid, in part crowded near 0 and in part outside of [0, 1].
        float& prediction = examples.predictions[i];
        if (seed % 2 == 1) prediction = std::pow(prediction, 8.0f);
        prediction += 1e-3f * static_cast<float>(i % 7) - (i % 50 == 0 ? 1.0f : 0.0f);
      }
      const double expected = exact(examples);
      for (const int64_t buckets : {1, 2, 10, 100, 10000}) {
        const AucBucketsMetric metric = metric_of(examples, buckets);
        EXPECT_LE(std::fabs(metric.compute() - expected), metric.error_bound() + 1e-12)
            << "seed " << seed << ", " << buckets << " buckets";
      }
    }
  }
}

TEST(AucBucketsTest, TheBoundOfAnEvenSpread) {
  MetricExamples examples;
  for (int i = 1; i <= 10000; ++i) {
    examples.predictions.insert(examples.predictions.end(), 2, static_cast<float>(i) / 10000);
    examples.labels.push_back(0);
    examples.labels.push_back(i % 3 == 0 ? 1 : 0);
  }
  EXPECT_LE(metric_of(examples, 100).error_bound(), 0.005 + 1e-4);
  EXPECT_LE(metric_of(examples, 10000).error_bound(), 0.0001);
}

TEST(AucBucketsTest, Undefined) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(metric_of({{0.1f, 0.9f}, {1, 1}, {}}, 10).compute()));
  EXPECT_TRUE(std::isnan(metric_of({{0.1f, 0.9f}, {1, 1}, {}}, 10).error_bound()));
  EXPECT_TRUE(std::isnan(metric_of({{0.1f, 0.9f}, {0, 0}, {}}, 10).compute()));
  EXPECT_TRUE(std::isnan(metric_of({{0.1f, 0.9f}, {NAN, 1}, {}}, 10).compute()));
  EXPECT_TRUE(std::isnan(metric_of({{0.1f, 0.9f}, {0, 1}, {infinity, 1}}, 10).compute()));
  EXPECT_EQ(metric_of({{-infinity, infinity}, {0, 1}, {}}, 10).compute(), 1);
}

TEST(AucBucketsTest, TheNumberOfBucketsIsAnOption) {
  CustomConfig config;
  config.set_name("auc_buckets");
  const auto create = [&] { return create_metric(config.name(), {config}); };
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, create());
  EXPECT_OK(AucBucketsMetric(10000).merge_saved(metric->save())) << "the default";
  config.MutableExtension(auc_buckets)->set_buckets(7);
  ASSERT_OK_AND_ASSIGN(metric, create());
  EXPECT_THAT(AucBucketsMetric(8).merge_saved(metric->save()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("buckets 7; the metric that reads it has 8")));
  config.MutableExtension(auc_buckets)->set_buckets(0);
  EXPECT_THAT(create(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("metric \"auc_buckets\": buckets is 0; must be 1 to 1000000")));
}

[[maybe_unused]] const bool kAucBuckets = register_metric_conformance(
    "AucBuckets", [] { return std::make_unique<AucBucketsMetric>(100); });

}  // namespace
}  // namespace millrace
