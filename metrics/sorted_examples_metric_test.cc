#include "metrics/sorted_examples_metric.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

// The mean of the signed weights of the lower half, which shows what compute_sorted() is given.
class LowerHalf : public SortedExamplesMetric {
 public:
  absl::string_view name() const override { return "lower_half"; }

 private:
  double compute_sorted(absl::Span<const ScoredExample> sorted) const override {
    const ClassWeights classes = sum_classes(sorted.first((sorted.size() + 1) / 2));
    return (classes.positives - classes.negatives) / (classes.positives + classes.negatives);
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

TEST(SortedExamplesMetricTest, ALabelThatIsNotANumber) {
  EXPECT_TRUE(std::isnan(compute({{0.1f, 0.9f}, {NAN, 1}, {}})));
  EXPECT_FALSE(std::isnan(compute({{0.1f, 0.9f}, {NAN, 1}, {0, 1}}))) << "of weight 0";
}

}  // namespace
}  // namespace millrace
