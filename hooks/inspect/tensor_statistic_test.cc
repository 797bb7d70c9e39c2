#include "hooks/inspect/tensor_statistic.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace millrace {
namespace {

using W = WatchTensorsConfig;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(TensorStatisticTest, Names) {
  EXPECT_EQ(statistic_name(W::NORM), "norm");
  EXPECT_EQ(statistic_name(W::NON_FINITE_COUNT), "non_finite_count");
}

TEST(TensorStatisticTest, OfNumbers) {
  const at::Tensor tensor = torch::tensor({{3.0, -4.0}, {0.0, 0.0}});
  EXPECT_DOUBLE_EQ(tensor_statistic(W::NORM, tensor), 5);
  EXPECT_DOUBLE_EQ(tensor_statistic(W::MEAN, tensor), -0.25);
  EXPECT_DOUBLE_EQ(tensor_statistic(W::STD, tensor), std::sqrt(25.0 / 4 - 0.0625));
  EXPECT_DOUBLE_EQ(tensor_statistic(W::MIN, tensor), -4);
  EXPECT_DOUBLE_EQ(tensor_statistic(W::MAX, tensor), 3);
  EXPECT_DOUBLE_EQ(tensor_statistic(W::ABS_MAX, tensor), 4);
  EXPECT_DOUBLE_EQ(tensor_statistic(W::ZERO_SHARE, tensor), 0.5);
  EXPECT_DOUBLE_EQ(tensor_statistic(W::NON_FINITE_COUNT, tensor), 0);
}

TEST(TensorStatisticTest, OneElementDoesNotVary) {
  EXPECT_EQ(tensor_statistic(W::STD, torch::tensor({7.0})), 0);
}

TEST(TensorStatisticTest, NotANumberIsNotHidden) {
  const at::Tensor tensor = torch::tensor({1.0, kNan, kInfinity, 0.0});
  for (const auto statistic : {W::NORM, W::MEAN, W::STD, W::MIN, W::MAX, W::ABS_MAX}) {
    EXPECT_TRUE(std::isnan(tensor_statistic(statistic, tensor))) << statistic_name(statistic);
  }
  EXPECT_EQ(tensor_statistic(W::ZERO_SHARE, tensor), 0.25);
  EXPECT_EQ(tensor_statistic(W::NON_FINITE_COUNT, tensor), 2);
  EXPECT_EQ(tensor_statistic(W::MAX, torch::tensor({1.0, kInfinity})), kInfinity);
}

TEST(TensorStatisticTest, WithoutElements) {
  const at::Tensor empty = torch::zeros({0, 3});
  EXPECT_EQ(tensor_statistic(W::NORM, empty), 0);
  EXPECT_EQ(tensor_statistic(W::ZERO_SHARE, empty), 0);
  EXPECT_EQ(tensor_statistic(W::NON_FINITE_COUNT, empty), 0);
  for (const auto statistic : {W::MEAN, W::STD, W::MIN, W::MAX, W::ABS_MAX}) {
    EXPECT_TRUE(std::isnan(tensor_statistic(statistic, empty))) << statistic_name(statistic);
  }
}

TEST(TensorStatisticTest, OfBfloat16InFloat64) {
  const at::Tensor tensor = torch::ones({1000}, torch::kBFloat16);
  EXPECT_DOUBLE_EQ(tensor_statistic(W::NORM, tensor), std::sqrt(1000.0));
  EXPECT_DOUBLE_EQ(tensor_statistic(W::MEAN, tensor), 1);
}

TEST(TensorStatisticTest, ATensorThatNeedsGradientsKeepsNone) {
  const at::Tensor tensor = torch::ones({3}, torch::requires_grad());
  EXPECT_EQ(tensor_statistic(W::ABS_MAX, tensor), 1);
  EXPECT_FALSE(tensor.grad().defined());
}

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
