#include "hooks/inspect/tensor_statistic.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

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

}  // namespace
}  // namespace millrace
