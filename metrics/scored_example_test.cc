#include "metrics/scored_example.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace millrace {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(ScoredExampleTest, TheSignOfTheWeightIsTheClass) {
  const float predictions[] = {0.25f, 0.5f, 0.75f};
  const float labels[] = {1, 0.5f, kNan};
  const float weights[] = {2, 3, 4};
  const MetricInput input{.predictions = predictions, .labels = labels, .weights = weights};
  EXPECT_EQ(scored_example(input, 0).prediction, 0.25f);
  EXPECT_EQ(scored_example(input, 0).signed_weight, 2);
  EXPECT_EQ(scored_example(input, 1).signed_weight, -3);
  EXPECT_TRUE(has_numbers(scored_example(input, 1)));
  EXPECT_FALSE(has_numbers(scored_example(input, 2)));
  EXPECT_FALSE(has_numbers({kNan, 1}));
}

TEST(ScoredExampleTest, TiesOfSortedExamples) {
  std::vector<ScoredExample> examples = {{0.5f, -1}, {0.25f, 2}, {0.5f, 3}, {0.25f, -4}, {0, 1}};
  sort_examples(&examples);
  absl::Span<const ScoredExample> rest = examples;
  EXPECT_EQ(lowest_tie(rest).size(), 1);
  EXPECT_EQ(highest_tie(rest).size(), 2);
  rest.remove_prefix(1);
  const ClassWeights lowest = sum_classes(lowest_tie(rest));
  EXPECT_EQ(lowest.positives, 2);
  EXPECT_EQ(lowest.negatives, 4);
  const ClassWeights highest = sum_classes(highest_tie(rest));
  EXPECT_EQ(highest.positives, 3);
  EXPECT_EQ(highest.negatives, 1);
  EXPECT_EQ(lowest_tie(rest.first(2)).size(), 2) << "one tie is all";
  EXPECT_EQ(highest_tie(rest.first(2)).size(), 2);
}

TEST(ScoredExampleTest, BytesOfAnExampleThatNoMetricKeepsAreRefused) {
  const auto read = [](const ScoredExample& example) {
    ByteWriter writer;
    write_example(example, &writer);
    EXPECT_EQ(writer.bytes().size(), ScoredExample::kSavedBytes);
    ByteReader reader(writer.bytes());
    ScoredExample copy;
    return read_example(&reader, &copy) && copy.prediction == example.prediction &&
           copy.signed_weight == example.signed_weight;
  };
  EXPECT_TRUE(read({0.5f, -2}));
  EXPECT_FALSE(read({0.5f, 0}));
  EXPECT_FALSE(read({kNan, 1}));
  EXPECT_FALSE(read({0.5f, kNan}));
  ByteReader empty("");
  ScoredExample example;
  EXPECT_FALSE(read_example(&empty, &example));
}

}  // namespace
}  // namespace millrace
