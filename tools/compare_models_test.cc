#include "tools/compare_models.h"

#include <ATen/Functions.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kExamples = 2000;

// A set in two batches, of a model whose scores are the labels' and noise of this size.
ScoredSet scored(double noise, bool with_groups = false, unsigned labels_seed = 1,
                 unsigned noise_seed = 0) {
  std::mt19937 labels(labels_seed), noises(labels_seed + noise_seed + 1000);
  std::uniform_real_distribution<double> uniform;
  ScoredSet set;
  for (int batch = 0; batch < 2; ++batch) {
    StepResult result;
    result.examples = kExamples / 2;
    result.predictions = at::empty({result.examples, 1});
    result.labels = at::empty({result.examples, 1});
    for (int64_t i = 0; i < result.examples; ++i) {
      const double label = uniform(labels) < 0.3 ? 1 : 0;
      const double score = 0.5 + 0.2 * (label - 0.5) + noise * (uniform(noises) - 0.5);
      result.labels[i][0] = label;
      result.predictions[i][0] = std::min(std::max(score, 0.01), 0.99);
    }
    // Two examples a group, both in one batch.
    if (with_groups) result.groups = at::arange(result.examples) / 2 + batch * kExamples;
    if (with_groups) result.groups = result.groups.to(at::kLong);
    set.add(result);
  }
  return set;
}

absl::StatusOr<MetricSet> make() { return MetricSet::create({"auc", "logloss"}, {"label"}); }

TEST(CompareModelsTest, TheIntervalHoldsTheDifferenceAndShowsWhatIsNoise) {
  for (const bool with_groups : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto better, compare_metrics(scored(1, with_groups),
                                                            scored(0.5, with_groups), make, 2));
    ASSERT_EQ(better.size(), 2);
    EXPECT_EQ(better[0].name, "auc");
    EXPECT_GT(better[0].second, better[0].first);
    EXPECT_GT(better[0].low, 0) << "far beyond the noise";
    EXPECT_LT(better[1].high, 0) << "a lower logloss";
    for (const ComparedMetric& metric : better) {
      EXPECT_LT(metric.low, metric.second - metric.first);
      EXPECT_GT(metric.high, metric.second - metric.first);
    }
  }
  int told_apart = 0;  // of equally good models
  for (unsigned seed = 1; seed <= 10; ++seed) {
    ASSERT_OK_AND_ASSIGN(const auto alike, compare_metrics(scored(1, false, seed),
                                                           scored(1, false, seed, 7), make, 2));
    told_apart += alike[0].low > 0 || alike[0].high < 0;
  }
  EXPECT_LE(told_apart, 2);
  ASSERT_OK_AND_ASSIGN(const auto equal, compare_metrics(scored(1), scored(1), make, 1));
  EXPECT_EQ(equal[0].low, 0);
  EXPECT_EQ(equal[0].high, 0);
}

TEST(CompareModelsTest, ThreadsDoNotChangeTheInterval) {
  ASSERT_OK_AND_ASSIGN(const auto one, compare_metrics(scored(1), scored(0.9), make, 1));
  ASSERT_OK_AND_ASSIGN(const auto two, compare_metrics(scored(1), scored(0.9), make, 3));
  EXPECT_EQ(one[0].low, two[0].low);
  EXPECT_EQ(one[0].high, two[0].high);
  EXPECT_THAT(comparison_text(one), HasSubstr("auc"));
}

// The interval is as wide as the standard error over independent sets says.
TEST(CompareModelsTest, TheIntervalHasItsCoverage) {
  constexpr int kSets = 30;
  double mean = 0, squares = 0, width = 0;
  for (int set = 0; set < kSets; ++set) {
    ASSERT_OK_AND_ASSIGN(
        const auto compared,
        compare_metrics(scored(1, false, set + 1), scored(0.9, false, set + 1), make, 2));
    const double difference = compared[1].second - compared[1].first;
    mean += difference / kSets;
    squares += difference * difference / kSets;
    width += (compared[1].high - compared[1].low) / kSets;
  }
  const double deviation = std::sqrt((squares - mean * mean) * kSets / (kSets - 1));
  EXPECT_NEAR(width / (2 * 1.96 * deviation), 1, 0.35);
}

TEST(CompareModelsTest, OtherExamplesAreRefused) {
  EXPECT_THAT(compare_metrics(scored(1), scored(1, false, 2), make, 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("the same examples")));
}

}  // namespace
}  // namespace millrace
