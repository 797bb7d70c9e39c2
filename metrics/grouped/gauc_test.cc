#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "metrics/auc.h"
#include "metrics/grouped/ranking_metrics.h"
#include "metrics/metric_conformance.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

double compute(const MetricExamples& examples, GroupWeight weight = GroupWeight::kExamples) {
  GaucMetric metric(weight);
  metric.update(examples.all());
  return metric.compute();
}

// The definition: an AucMetric for each group.
double gauc_of_groups(const MetricExamples& examples, GroupWeight group_weight) {
  struct Group {
    AucMetric auc;
    double weight = 0;
  };
  std::map<int64_t, Group> groups;
  const MetricInput all = examples.all();
  for (size_t i = 0; i < examples.predictions.size(); ++i) {
    Group& group = groups[examples.groups[i]];
    group.auc.update(examples.slice(i, i + 1));
    if (group_weight == GroupWeight::kExamples || all.labels[i] == 1) group.weight += all.weight(i);
  }
  double sum = 0, weights = 0;
  for (const auto& [id, group] : groups) {
    const double auc = group.auc.compute();
    if (std::isnan(auc)) continue;
    sum += group.weight * auc;
    weights += group.weight;
  }
  return sum / weights;
}

// The examples in another order.
MetricExamples shuffled(const MetricExamples& examples, uint64_t seed) {
  std::vector<size_t> order(examples.predictions.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[philox64(seed, 1, i) % i]);
  MetricExamples result;
  for (const size_t i : order) {
    result.predictions.push_back(examples.predictions[i]);
    result.labels.push_back(examples.labels[i]);
    if (!examples.weights.empty()) result.weights.push_back(examples.weights[i]);
    result.groups.push_back(examples.groups[i]);
  }
  return result;
}

// Group 7 has AUC 1/2 with 3 examples and 1 positive; group -2 has AUC 1 with 3 and 2 positives;
// group 5 has one class, group 6 one example.
const MetricExamples kExamples = {
    {0.5f, 0.9f, 0.4f, 0.8f, 0.6f, 0.1f, 0.3f, 0.7f, 0.2f},
    {1, 1, 0, 1, 0, 0, 0, 0, 1},
    {},
    {7, -2, 7, -2, 7, -2, 5, 5, 6},
};

TEST(GaucTest, ByHand) {
  EXPECT_DOUBLE_EQ(compute(kExamples), (3 * 0.5 + 3 * 1) / 6);
  EXPECT_DOUBLE_EQ(compute(kExamples, GroupWeight::kPositives), (1 * 0.5 + 2 * 1) / 3);
}

TEST(GaucTest, EqualsTheDefinition) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    for (const bool weighted : {false, true}) {
      for (const GroupWeight weight : {GroupWeight::kExamples, GroupWeight::kPositives}) {
        const MetricExamples examples = random_examples(seed, 40 + 60 * seed, weighted);
        EXPECT_NEAR(compute(examples, weight), gauc_of_groups(examples, weight), 1e-12) << seed;
      }
    }
  }
}

TEST(GaucTest, OneGroupIsTheAuc) {
  MetricExamples examples = random_examples(1, 100, true);
  examples.groups.assign(100, 3);
  AucMetric auc;
  auc.update(examples.all());
  for (const GroupWeight weight : {GroupWeight::kExamples, GroupWeight::kPositives}) {
    EXPECT_NEAR(compute(examples, weight), auc.compute(), 1e-15);
  }
}

TEST(GaucTest, OrderBatchesAndRanksDoNotMatterToTheLastBit) {
  const MetricExamples examples = random_examples(2, 500, true);
  const double expected = compute(examples);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const MetricExamples other = shuffled(examples, seed);
    GaucMetric ranks[3];
    for (size_t i = 0; i < 10; ++i) ranks[i % 3].update(other.slice(50 * i, 50 * i + 50));
    ranks[0].merge(ranks[1]);
    ASSERT_OK(ranks[0].merge_saved(ranks[2].save()));
    EXPECT_EQ(ranks[0].compute(), expected);
  }
}

TEST(GaucTest, Undefined) {
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, 1}, {}, {1, 2}}))) << "groups of one";
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, 1}, {}}))) << "no groups";
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, NAN}, {}, {1, 1}})));
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {0, 1}, {1, 0}, {1, 1}}))) << "one class";
  EXPECT_EQ(compute({{0.1f, 0.9f, NAN}, {0, 1, 1}, {1, 1, 0}, {1, 1, 1}}), 1) << "of weight 0";
}

TEST(GaucTest, TheGroupWeightIsAnOption) {
  CustomConfig config;
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, GaucMetric::create(config));
  metric->update(kExamples.all());
  EXPECT_DOUBLE_EQ(metric->compute(), 0.75);
  config.MutableExtension(gauc)->set_weight(GaucConfig::POSITIVES);
  ASSERT_OK_AND_ASSIGN(metric, GaucMetric::create(config));
  metric->update(kExamples.all());
  EXPECT_DOUBLE_EQ(metric->compute(), 2.5 / 3);
}

[[maybe_unused]] const bool kGauc =
    register_metric_conformance("Gauc", [] { return std::make_unique<GaucMetric>(); });
[[maybe_unused]] const bool kGaucByPositives = register_metric_conformance(
    "GaucByPositives", [] { return std::make_unique<GaucMetric>(GroupWeight::kPositives); });

}  // namespace
}  // namespace millrace
