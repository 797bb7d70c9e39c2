#include "embedding/table/gradient_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/isa/instruction_set.h"

namespace millrace {
namespace {

// Summands in any order of rows: {row, gradient number, coefficient}.
struct Summand {
  uint32_t row;
  const float* gradient;
  float coefficient = 1;
};

SortedSummands sorted(size_t rows, const std::vector<Summand>& summands, bool weighted = false) {
  std::vector<uint32_t> places;
  for (const Summand& summand : summands) places.push_back(summand.row);
  SortedSummands result;
  result.begin(rows);
  result.count(places);
  result.begin_adding(weighted);
  for (const Summand& summand : summands) {
    if (weighted) {
      result.add(summand.row, summand.gradient, summand.coefficient);
    } else {
      result.add(summand.row, summand.gradient);
    }
  }
  result.finish();
  return result;
}

TEST(GradientSumsTest, RowsKeepTheOrderOfTheirSummands) {
  const float a[] = {1, 2}, b[] = {3, 4}, c[] = {5, 6};
  const SortedSummands summands = sorted(4, {{3, a}, {1, b}, {3, c}, {3, b}});
  const Summands all = summands.of(0, 4);
  EXPECT_EQ(all.end, 4u);
  EXPECT_EQ(std::vector<uint32_t>(all.begins, all.begins + 5),
            (std::vector<uint32_t>{0, 0, 1, 1, 4}));
  EXPECT_THAT(std::vector<const float*>(all.gradients, all.gradients + 4),
              testing::ElementsAre(b, a, c, b));
  EXPECT_EQ(summands.sums(), 1u);
}

TEST(GradientSumsTest, CountsNoSummandWithoutAPlace) {
  SortedSummands summands;
  summands.begin(2);
  summands.count({0, kNoPlace, 1, kNoPlace});
  summands.begin_adding(false);
  const float a[] = {1};
  summands.add(1, a);
  summands.add(0, a);
  summands.finish();
  EXPECT_EQ(summands.of(0, 2).end, 2u);
}

TEST(GradientSumsTest, OneGradientIsTheSum) {
  const Kernels& kernels = millrace::kernels(best_instruction_set());
  GradientSums sums(2, kernels);
  const float a[] = {-0.0f, 2}, b[] = {3, 4};
  EXPECT_TRUE(sums.add_up(sorted(3, {{0, a}, {2, b}, {2, a}})));
  ASSERT_EQ(sums.sums().size(), 3u);
  EXPECT_EQ(sums.sums()[0], a);
  EXPECT_EQ(sums.sums()[1], nullptr);
  EXPECT_THAT(std::vector<float>(sums.sums()[2], sums.sums()[2] + 2), testing::ElementsAre(3, 6));
  EXPECT_EQ(sums.squared_norm(), 4 + 9 + 36);
}

TEST(GradientSumsTest, SumsAreDividedAfterwards) {
  const Kernels& kernels = millrace::kernels(best_instruction_set());
  GradientSums sums(3, kernels);
  const float a[] = {1, 2, 0.1f}, b[] = {3, 4, 0.7f};
  const std::vector<uint32_t> divisors = {1, 3, 3, 5, 2};
  // Rows: a single gradient without division; a single gradient; two; none; a single gradient with
  // a coefficient.
  EXPECT_TRUE(sums.add_up(
      sorted(5, {{4, b, 0.5f}, {2, a}, {1, b}, {0, a}, {2, b}}, /*weighted=*/true), divisors));
  EXPECT_EQ(sums.sums()[0], a);
  const auto sum = [&](int row) {
    return std::vector<float>(sums.sums()[row], sums.sums()[row] + 3);
  };
  EXPECT_THAT(sum(1), testing::ElementsAre(1, 4.0f / 3, 0.7f / 3));
  EXPECT_THAT(sum(2), testing::ElementsAre(4.0f / 3, 2, (0.1f + 0.7f) / 3));
  EXPECT_EQ(sums.sums()[3], nullptr);
  EXPECT_THAT(sum(4), testing::ElementsAre(0.75f, 1, 0.35f / 2));
  EXPECT_EQ(b[0], 3);  // gradients are unchanged
}

TEST(GradientSumsTest, SeesSumsThatAreNotFinite) {
  const Kernels& kernels = millrace::kernels(best_instruction_set());
  GradientSums sums(1, kernels);
  const float large[] = {3e38f}, negative[] = {-3e38f};
  const float infinite[] = {std::numeric_limits<float>::infinity()};
  EXPECT_TRUE(sums.add_up(sorted(2, {{0, large}, {0, negative}})));
  EXPECT_FALSE(sums.add_up(sorted(2, {{0, large}, {0, large}})));
  // The divisor does not matter.
  EXPECT_FALSE(sums.add_up(sorted(2, {{0, large}, {0, large}}), {2, 1}));
  EXPECT_FALSE(sums.add_up(sorted(2, {{1, infinite}})));
}

TEST(GradientSumsTest, SomeRowsAtATimeHaveTheSameSums) {
  const Kernels& kernels = millrace::kernels(best_instruction_set());
  std::vector<float> gradients(200);
  std::vector<Summand> summands;
  for (uint32_t i = 0; i < 200; ++i) {
    gradients[i] = static_cast<float>(i * i % 17) / 3;
    summands.push_back({i * 7 % 50, &gradients[i]});
  }
  const SortedSummands order = sorted(60, summands);
  GradientSums all(1, kernels), some(1, kernels);
  EXPECT_TRUE(all.add_up(order));
  for (size_t begin = 0; begin < 60; begin += 16) {
    const size_t end = std::min<size_t>(begin + 16, 60);
    const float* const* sums = some.add_up_some(order, begin, end);
    for (size_t row = begin; row < end; ++row) {
      ASSERT_EQ(sums[row - begin] == nullptr, all.sums()[row] == nullptr) << row;
      if (all.sums()[row] == nullptr) continue;
      EXPECT_EQ(*sums[row - begin], *all.sums()[row]) << row;
    }
  }
}

}  // namespace
}  // namespace millrace
