// Checks the metrics of rankings: ndcg@K, recall@K, hit_rate@K, map@K, mrr.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "metrics/grouped/ranking_metrics.h"
#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

constexpr const char* kNames[] = {"ndcg@1",     "ndcg@3", "ndcg@100", "recall@3", "hit_rate@1",
                                  "hit_rate@3", "map@3",  "map@100",  "mrr",      "mrr@2"};

double compute(const std::string& name, const MetricExamples& examples) {
  const std::unique_ptr<Metric> metric = *create_metric(name);
  metric->update(examples.all());
  return metric->compute();
}

// The mean over all orders of the examples, each made distinct by its place in the order.
double mean_over_orders(const std::string& name, const MetricExamples& group) {
  std::vector<size_t> order(group.predictions.size());
  std::iota(order.begin(), order.end(), 0);
  double sum = 0;
  int count = 0;
  do {
    MetricExamples distinct = group;
    for (size_t place = 0; place < order.size(); ++place) {
      distinct.predictions[order[place]] += 1e-4f * static_cast<float>(place);
    }
    sum += compute(name, distinct);
    ++count;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum / count;
}

TEST(RankingMetricTest, TiesAreTheMeanOverAllOrders) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    MetricExamples group;
    for (uint64_t i = 0; i < 6; ++i) {
      group.predictions.push_back(static_cast<float>(philox64(seed, 1, i) % 3));
      group.labels.push_back(static_cast<float>(i == 0 || philox64(seed, 2, i) % 3 == 0));
      group.groups.push_back(1);
    }
    for (const char* name : kNames) {
      EXPECT_NEAR(compute(name, group), mean_over_orders(name, group), 1e-12) << name << seed;
    }
  }
}

TEST(RankingMetricTest, OrderBatchesAndRanksDoNotMatterToTheLastBit) {
  const MetricExamples examples = random_examples(3, 400, true);
  for (const char* name : kNames) {
    const double expected = compute(name, examples);
    ASSERT_TRUE(std::isfinite(expected)) << name;
    for (uint64_t seed = 0; seed < 5; ++seed) {
      std::vector<size_t> order(400);
      std::iota(order.begin(), order.end(), 0);
      for (size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[philox64(seed, 1, i) % i]);
      }
      std::unique_ptr<Metric> ranks[3];
      for (auto& rank : ranks) rank = *create_metric(name);
      for (size_t i = 0; i < order.size(); ++i) {
        ranks[i % 3]->update(examples.slice(order[i], order[i] + 1));
      }
      ranks[2]->merge(*ranks[0]);
      ASSERT_OK(ranks[2]->merge_saved(ranks[1]->save()));
      EXPECT_EQ(ranks[2]->compute(), expected) << name;
    }
  }
}

TEST(RankingMetricTest, Undefined) {
  for (const char* name : kNames) {
    EXPECT_TRUE(std::isnan(compute(name, {{0.1f, 0.9f}, {0, 0}, {}, {1, 2}}))) << name;
    EXPECT_TRUE(std::isnan(compute(name, {{0.1f, 0.9f}, {0, 1}, {}}))) << "no groups";
    EXPECT_TRUE(std::isnan(compute(name, {{0.1f, NAN}, {0, 1}, {}, {1, 1}})));
    EXPECT_TRUE(std::isnan(compute(name, {{0.1f, 0.9f}, {NAN, 1}, {}, {1, 1}})));
    EXPECT_EQ(compute(name, {{0.1f, 0.9f}, {0, 1}, {}, {1, 1}}), 1) << name;
    EXPECT_EQ(compute(name, {{0.1f}, {1}, {}, {7}}), 1) << "a group of one";
  }
}

}  // namespace
}  // namespace millrace
