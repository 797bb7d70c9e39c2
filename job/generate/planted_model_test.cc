#include "job/generate/planted_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace millrace {
namespace {

using Part = PlantedModel::Part;

TEST(PlantedModelTest, ExampleIsAFunctionOfOptionsPartAndRow) {
  const PlantedModel model({.seed = 3}), same({.seed = 3}), other({.seed = 4});
  const PlantedExample a = model.example(Part::kTrain, 17);
  model.example(Part::kTrain, 18);
  const PlantedExample b = same.example(Part::kTrain, 17);
  EXPECT_EQ(a.probability, b.probability);
  EXPECT_EQ(a.dense, b.dense);
  EXPECT_EQ(a.sparse, b.sparse);
  EXPECT_NE(a.sparse, model.example(Part::kEvaluate, 17).sparse);
  EXPECT_NE(a.sparse, other.example(Part::kTrain, 17).sparse);
}

TEST(PlantedModelTest, LabelsFollowTheProbabilities) {
  for (const double rate : {0.03, 0.25, 0.9}) {
    const PlantedModel model({.seed = 1, .positive_rate = rate});
    double labels = 0, probabilities = 0, variance = 0;
    for (int row = 0; row < 20000; ++row) {
      const PlantedExample example = model.example(Part::kTrain, row);
      ASSERT_TRUE(example.label == 0 || example.label == 1);
      ASSERT_GT(example.probability, 0);
      ASSERT_LT(example.probability, 1);
      labels += example.label;
      probabilities += example.probability;
      variance += example.probability * (1 - example.probability);
    }
    EXPECT_NEAR(probabilities / 20000, rate, 0.01) << rate;
    EXPECT_NEAR(labels, probabilities, 5 * std::sqrt(variance)) << rate;
  }
}

TEST(PlantedModelTest, IdsThinOutAsZipfSays) {
  // Column 9 of 10 ids: exponent 1 makes the first as frequent as ln 2 / ln 11.
  const PlantedModel model({.seed = 1, .zipf_exponent = 1});
  ASSERT_EQ(PlantedModel::cardinality(8), 10);
  std::map<int64_t, int> counts;
  int present = 0;
  for (int row = 0; row < 20000; ++row) {
    const auto id = model.example(Part::kTrain, row).sparse[8];
    if (!id.has_value()) continue;
    ++present;
    ++counts[*id];
  }
  EXPECT_EQ(counts.size(), 10u);
  int most = 0;
  for (const auto& [id, count] : counts) most = std::max(most, count);
  EXPECT_NEAR(static_cast<double>(most) / present, std::log(2) / std::log(11), 0.015);
}

TEST(PlantedModelTest, ExponentZeroIsUniform) {
  const PlantedModel model({.seed = 1, .zipf_exponent = 0});
  std::map<int64_t, int> counts;
  for (int row = 0; row < 20000; ++row) ++counts[*model.example(Part::kTrain, row).sparse[8]];
  EXPECT_EQ(counts.size(), 10u);
  for (const auto& [id, count] : counts) EXPECT_NEAR(count, 2000, 5 * std::sqrt(2000));
}

TEST(PlantedModelTest, IdsCoverAll64BitsAndDifferBetweenColumns) {
  const PlantedModel model({.seed = 1});
  std::set<int64_t> ids[kSparseColumns];
  for (int row = 0; row < 3000; ++row) {
    const PlantedExample example = model.example(Part::kTrain, row);
    for (int i = 0; i < kSparseColumns; ++i) {
      if (example.sparse[i].has_value()) ids[i].insert(*example.sparse[i]);
    }
  }
  std::set<int64_t> all;
  size_t sum = 0;
  uint64_t high = 0, low = ~uint64_t{0};
  for (int i = 0; i < kSparseColumns; ++i) {
    EXPECT_LE(static_cast<int64_t>(ids[i].size()), PlantedModel::cardinality(i));
    sum += ids[i].size();
    all.insert(ids[i].begin(), ids[i].end());
    for (const int64_t id : ids[i]) {
      high |= static_cast<uint64_t>(id);
      low &= static_cast<uint64_t>(id);
    }
  }
  EXPECT_EQ(all.size(), sum);
  EXPECT_EQ(high, ~uint64_t{0});
  EXPECT_EQ(low, 0u);
}

TEST(PlantedModelTest, SomeValuesAreMissingAndDenseTailsAreHeavy) {
  const PlantedModel model({.seed = 1});
  int missing_dense = 0, missing_sparse = 0;
  double largest = 0;
  for (int row = 0; row < 2000; ++row) {
    const PlantedExample example = model.example(Part::kTrain, row);
    for (const auto& x : example.dense) {
      missing_dense += !x.has_value();
      if (!x.has_value()) continue;
      ASSERT_GE(*x, 0);
      ASSERT_EQ(*x, std::floor(*x));
      largest = std::max(largest, *x);
    }
    for (const auto& id : example.sparse) missing_sparse += !id.has_value();
  }
  EXPECT_NEAR(missing_dense / (2000.0 * kDenseColumns), 0.17, 0.05);
  EXPECT_NEAR(missing_sparse / (2000.0 * kSparseColumns), 0.13, 0.05);
  EXPECT_GT(largest, 1e4);
}

}  // namespace
}  // namespace millrace
