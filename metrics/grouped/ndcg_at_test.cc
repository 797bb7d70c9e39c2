#include <cmath>
#include <memory>
#include <string>

#include "base/status_matchers.h"
#include "metrics/grouped/ranking_metrics.h"
#include "metrics/metric_conformance.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

// Sorted by prediction, group 1 has the labels 0, 1, 1, 0, group 2 has 1, 0, and group 3 has 0.
const MetricExamples kExamples = {
    {0.1f, 0.9f, 0.8f, 0.3f, 0.2f, 0.7f, 0.6f},
    {0, 0, 1, 0, 0, 1, 1},
    {},
    {3, 1, 1, 1, 2, 2, 1},
};

double compute(const std::string& name, const MetricExamples& examples, Gain gain = Gain::kLinear) {
  NdcgAtMetric metric(name, gain);
  metric.update(examples.all());
  return metric.compute();
}

TEST(NdcgAtTest, ByHand) {
  const double second = 1 / std::log2(3), third = 1 / std::log2(4);
  // Group 1 has relevant examples at ranks 2 and 3, group 2 at rank 1, group 3 none.
  EXPECT_DOUBLE_EQ(compute("ndcg@1", kExamples), (0.0 + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("ndcg@2", kExamples), (second / (1 + second) + 1) / 2);
  EXPECT_DOUBLE_EQ(compute("ndcg@3", kExamples), ((second + third) / (1 + second) + 1) / 2);
}

TEST(NdcgAtTest, GainsOfGradedLabels) {
  const MetricExamples examples = {{0.75f, 0.5f, 0.25f}, {1, 0, 3}, {}, {5, 5, 5}};
  const double second = 1 / std::log2(3), third = 1 / std::log2(4);
  EXPECT_DOUBLE_EQ(compute("ndcg@3", examples), (1 + 3 * third) / (3 + second));
  EXPECT_DOUBLE_EQ(compute("ndcg@3", examples, Gain::kExponential), (1 + 7 * third) / (7 + second));
}

TEST(NdcgAtTest, ATieHasItsMeanGainAtEachRank) {
  const MetricExamples examples = {{0.5f, 0.5f}, {3, 0}, {}, {5, 5}};
  EXPECT_DOUBLE_EQ(compute("ndcg@1", examples), 1.5 / 3);
  EXPECT_DOUBLE_EQ(compute("ndcg@2", examples), 1.5 * (1 + 1 / std::log2(3)) / 3);
}

TEST(NdcgAtTest, ANegativeLabelMakesItNotANumber) {
  EXPECT_TRUE(std::isnan(compute("ndcg@2", {{0.5f, 0.25f}, {1, -1}, {}, {5, 5}})));
}

TEST(NdcgAtTest, CreateReadsTheGain) {
  CustomConfig config;
  config.set_name("ndcg@3");
  config.MutableExtension(ndcg_at)->set_gain(NdcgAtConfig::EXPONENTIAL);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Metric> metric, NdcgAtMetric::create(config));
  EXPECT_EQ(metric->name(), "ndcg@3");
  const MetricExamples examples = {{0.75f, 0.5f}, {1, 3}, {}, {5, 5}};
  metric->update(examples.all());
  const double second = 1 / std::log2(3);
  EXPECT_DOUBLE_EQ(metric->compute(), (1 + 7 * second) / (7 + second));
}

[[maybe_unused]] const bool kNdcgAt =
    register_metric_conformance("NdcgAt", [] { return std::make_unique<NdcgAtMetric>("ndcg@2"); });

}  // namespace
}  // namespace millrace
