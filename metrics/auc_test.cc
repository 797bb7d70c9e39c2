#include "metrics/auc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

double auc(const MetricExamples& examples) {
  AucMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

// The definition, pair by pair.
double auc_of_pairs(const MetricExamples& examples) {
  const MetricInput input = examples.all();
  double won = 0, pairs = 0;
  for (size_t p = 0; p < input.labels.size(); ++p) {
    if (input.labels[p] != 1) continue;
    for (size_t n = 0; n < input.labels.size(); ++n) {
      if (input.labels[n] != 0) continue;
      const double weight = input.weight(p) * input.weight(n);
      pairs += weight;
      if (input.predictions[p] > input.predictions[n]) won += weight;
      if (input.predictions[p] == input.predictions[n]) won += weight / 2;
    }
  }
  return won / pairs;
}

TEST(AucTest, ByHand) {
  // Positives 0.8 and 0.4; negatives 0.6, 0.4, 0.2: won 3 + 1.5 of 6 pairs.
  EXPECT_DOUBLE_EQ(auc({{0.8f, 0.6f, 0.4f, 0.4f, 0.2f}, {1, 0, 1, 0, 0}, {}}), 0.75);
  EXPECT_DOUBLE_EQ(auc({{0.1f, 0.9f}, {0, 1}, {}}), 1);
  EXPECT_DOUBLE_EQ(auc({{0.9f, 0.1f}, {0, 1}, {}}), 0);
  EXPECT_DOUBLE_EQ(auc({{0.5f, 0.5f, 0.5f}, {0, 1, 0}, {}}), 0.5);
}

TEST(AucTest, WeightsByHand) {
  // Positive 0.5 of weight 2; negatives 0.4 of weight 3 and 0.6 of weight 1: 6 of 8.
  EXPECT_DOUBLE_EQ(auc({{0.5f, 0.4f, 0.6f}, {1, 0, 0}, {2, 3, 1}}), 0.75);
}

TEST(AucTest, EqualsTheDefinition) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (const bool weighted : {false, true}) {
      const MetricExamples examples = random_examples(seed, 4 + 60 * seed, weighted);
      EXPECT_NEAR(auc(examples), auc_of_pairs(examples), 1e-12) << seed;
    }
  }
}

TEST(AucTest, UndefinedWithoutBothClasses) {
  EXPECT_TRUE(std::isnan(auc({{0.1f, 0.9f}, {1, 1}, {}})));
  EXPECT_TRUE(std::isnan(auc({{0.1f, 0.9f}, {0, 0}, {}})));
  EXPECT_TRUE(std::isnan(auc({{0.1f, 0.9f}, {0, 1}, {1, 0}})));
}

TEST(AucTest, ScoresNeedNotBeProbabilities) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_DOUBLE_EQ(auc({{-infinity, -3, 0, 17, infinity}, {0, 0, 1, 0, 1}, {}}), 5.0 / 6);
}

TEST(AucTest, DecisionsAtThresholds) {
  AucMetric metric;
  metric.update(MetricExamples{{0, 0.25f, 0.25f, 1}, {1, 0, 1, 1}, {1, 2, 4, 8}}.all());
  const std::optional<ThresholdWeights> weights = metric.threshold_weights();
  ASSERT_TRUE(weights.has_value());
  ASSERT_EQ(weights->thresholds.size(), 201);
  const auto expect = [&](size_t i, double true_positives, double false_positives) {
    EXPECT_DOUBLE_EQ(weights->thresholds[i], static_cast<double>(i) / 200);
    EXPECT_EQ(weights->true_positives[i], true_positives) << i;
    EXPECT_EQ(weights->false_positives[i], false_positives) << i;
    EXPECT_EQ(weights->false_negatives[i], 13 - true_positives) << i;
    EXPECT_EQ(weights->true_negatives[i], 2 - false_positives) << i;
  };
  expect(0, 13, 2);  // predictions of 0, too
  expect(1, 12, 2);
  expect(49, 12, 2);
  expect(50, 8, 0);
  expect(199, 8, 0);
  expect(200, 0, 0);
}

TEST(AucTest, NoDecisionsWithoutBothClasses) {
  EXPECT_FALSE(AucMetric().threshold_weights().has_value());
}

TEST(AucTest, OrderDoesNotMatterToTheLastBit) {
  MetricExamples examples = random_examples(1, 500, true);
  const double expected = auc(examples);
  std::reverse(examples.predictions.begin(), examples.predictions.end());
  std::reverse(examples.labels.begin(), examples.labels.end());
  std::reverse(examples.weights.begin(), examples.weights.end());
  EXPECT_EQ(auc(examples), expected);
}

[[maybe_unused]] const bool kAuc =
    register_metric_conformance("Auc", [] { return std::make_unique<AucMetric>(); });

double compute(const MetricExamples& examples) {
  PrAucMetric metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(PrAucTest, ByHand) {
  // Thresholds 0.8, 0.6, 0.4, 0.2: precision 1, 1/2, 2/4, 2/5; recall 1/2, 1/2, 1, 1.
  EXPECT_DOUBLE_EQ(compute({{0.8f, 0.6f, 0.4f, 0.4f, 0.2f}, {1, 0, 1, 0, 0}, {}}), 0.75);
  EXPECT_DOUBLE_EQ(compute({{0.1f, 0.9f}, {0, 1}, {}}), 1);
  EXPECT_DOUBLE_EQ(compute({{0.9f, 0.1f}, {0, 1}, {}}), 0.5);
}

TEST(PrAucTest, WeightsByHand) {
  // Thresholds 0.6, 0.5: precision 0, 2/3.
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.6f}, {1, 0}, {2, 1}}), 2.0 / 3);
}

TEST(PrAucTest, AllTiedIsTheShareOfPositives) {
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.5f, 0.5f, 0.5f}, {0, 1, 0, 0}, {}}), 0.25);
}

TEST(PrAucTest, OneClass) {
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, 0}, {}})));
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, 1}, {1, 0}})));
  EXPECT_DOUBLE_EQ(compute({{0.1f, 0.9f}, {1, 1}, {}}), 1);
}

TEST(PrAucTest, OrderDoesNotMatterToTheLastBit) {
  MetricExamples examples = random_examples(1, 500, true);
  const double expected = compute(examples);
  std::reverse(examples.predictions.begin(), examples.predictions.end());
  std::reverse(examples.labels.begin(), examples.labels.end());
  std::reverse(examples.weights.begin(), examples.weights.end());
  EXPECT_EQ(compute(examples), expected);
}

[[maybe_unused]] const bool kPrAuc =
    register_metric_conformance("PrAuc", [] { return std::make_unique<PrAucMetric>(); });

}  // namespace
}  // namespace millrace
