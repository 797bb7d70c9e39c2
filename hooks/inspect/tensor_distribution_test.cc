#include "hooks/inspect/tensor_distribution.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TensorDistributionTest, EachElementIsInItsBin) {
  at::manual_seed(1);
  const at::Tensor tensor = at::randn({100, 70});
  const Distribution result = tensor_distribution(tensor);
  EXPECT_EQ(result.count, 7000);
  EXPECT_EQ(result.not_finite, 0);
  EXPECT_EQ(result.min, tensor.min().item<double>());
  EXPECT_EQ(result.max, tensor.max().item<double>());
  EXPECT_NEAR(result.sum, tensor.to(at::kDouble).sum().item<double>(), 1e-8);
  EXPECT_NEAR(result.sum_of_squares, tensor.to(at::kDouble).square().sum().item<double>(), 1e-8);
  ASSERT_EQ(result.limits.size(), 30);
  ASSERT_EQ(result.counts.size(), 30);
  EXPECT_TRUE(std::is_sorted(result.limits.begin(), result.limits.end()));
  EXPECT_EQ(result.limits.back(), result.max);
  std::vector<int64_t> counts(30);
  const at::Tensor flat = tensor.flatten();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    const double element = flat[i].item<float>();
    size_t bin = 0;
    while (element > result.limits[bin]) ++bin;
    ++counts[bin];
  }
  EXPECT_EQ(result.counts, counts);
}

TEST(TensorDistributionTest, EqualElementsAreInOneBin) {
  const Distribution result = tensor_distribution(at::full({5}, 2.0));
  EXPECT_THAT(result.limits, ElementsAre(1.5, 2.5));
  EXPECT_THAT(result.counts, ElementsAre(0, 5));
}

TEST(TensorDistributionTest, WhatIsNotFiniteIsCountedApart) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Distribution result =
      tensor_distribution(at::tensor({1.0f, infinity, -infinity, std::nanf(""), 3.0f}));
  EXPECT_EQ(result.count, 2);
  EXPECT_EQ(result.not_finite, 3);
  EXPECT_EQ(result.min, 1);
  EXPECT_EQ(result.max, 3);
  EXPECT_EQ(std::accumulate(result.counts.begin(), result.counts.end(), 0), 2);
}

TEST(TensorDistributionTest, NothingHasNoBins) {
  EXPECT_THAT(tensor_distribution(at::empty({0})).limits, IsEmpty());
}

TEST(TensorDistributionTest, WidthsBelowTheNumbersOfFloat64) {
  const float one = 1, next = std::nextafter(1.0f, 2.0f);
  const Distribution result = tensor_distribution(at::tensor({one, next, next}));
  EXPECT_EQ(result.counts.front(), 1);
  EXPECT_EQ(result.counts.back(), 2);
}

}  // namespace
}  // namespace millrace
