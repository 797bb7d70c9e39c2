#include "metrics/sorted_examples_metric.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

// The mean of the signed weights of the lower half, which shows what add_sorted() is given.
class LowerHalf : public SortedExamplesMetric {
 public:
  absl::string_view name() const override { return "lower_half"; }

 private:
  void add_sorted(absl::Span<const ScoredExample> sorted, RankingSums* sums) const override {
    add_classes(sorted.first((sorted.size() + 1) / 2), &sums->classes);
  }
  double value(const RankingSums& sums) const override {
    const auto [positives, negatives] = sums.classes;
    return (positives - negatives) / (positives + negatives);
  }
};

double compute(const MetricExamples& examples) {
  LowerHalf metric;
  metric.update(examples.all());
  return metric.compute();
}

TEST(SortedExamplesMetricTest, ExamplesComeInTheOrderOfPredictions) {
  EXPECT_DOUBLE_EQ(compute({{0.9f, 0.1f, 0.8f, 0.2f}, {0, 1, 0, 1}, {}}), 1);
  EXPECT_DOUBLE_EQ(compute({{0.1f, 0.9f, 0.2f, 0.8f}, {0, 1, 0, 1}, {}}), -1);
  EXPECT_DOUBLE_EQ(compute({{0.5f, 0.5f}, {1, 0}, {}}), -1) << "ties: negatives come first";
}

// The prediction of the first example. Reverses the examples at each call, so that the next value
// shows whether they were sorted again.
class FirstPrediction : public SortedExamplesMetric {
 public:
  absl::string_view name() const override { return "first_prediction"; }

 private:
  void add_sorted(absl::Span<const ScoredExample> sorted, RankingSums* sums) const override {
    sums->area = sorted[0].prediction;
    std::reverse(examples().begin(), examples().end());
  }
  double value(const RankingSums& sums) const override { return sums.area; }
};

TEST(SortedExamplesMetricTest, ExamplesAreSortedOnceUntilSomeAreAdded) {
  const MetricExamples some = {{0.75f, 0.5f, 0.25f}, {0, 1, 0}, {}};
  FirstPrediction metric, other;
  metric.update(some.all());
  other.update(some.all());
  const auto expect_one_sort = [&] {
    EXPECT_EQ(metric.compute(), 0.25);
    EXPECT_EQ(metric.compute(), 0.75);
  };
  expect_one_sort();
  metric.update(some.all());
  expect_one_sort();
  metric.merge(other);
  expect_one_sort();
  EXPECT_TRUE(metric.merge_saved(other.save()).ok());
  expect_one_sort();
  metric.reset();
  for (int i = 0; i < 4; ++i) metric.update(some.all());
  expect_one_sort();
}

TEST(SortedExamplesMetricTest, ALabelThatIsNotANumber) {
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {NAN, 1}, {}})));
  EXPECT_FALSE(std::isnan(compute({{0.1f, 0.9f}, {NAN, 1}, {0, 1}}))) << "of weight 0";
}

}  // namespace
}  // namespace millrace
