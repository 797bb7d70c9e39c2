#include "models/mlp.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(MlpTest, ByHand) {
  torch::nn::Sequential mlp = make_mlp(2, {2}, 1);
  const at::NoGradGuard no_grad;
  auto parameters = mlp->named_parameters();
  parameters["0.weight"].copy_(at::tensor({1.0f, 2.0f, -1.0f, 0.0f}).view({2, 2}));
  parameters["0.bias"].fill_(0.5);
  parameters["2.weight"].fill_(3);
  parameters["2.bias"].fill_(-1);
  // Hidden: 1 + 4 + 0.5 and relu(-1 + 0.5) = 0.
  const at::Tensor y = mlp->forward(at::tensor({1.0f, 2.0f}).view({1, 2}));
  EXPECT_EQ(y.sizes(), at::IntArrayRef({1, 1}));
  EXPECT_FLOAT_EQ(y.item<float>(), 3 * 5.5f - 1);
}

TEST(MlpTest, WithoutOutputsItEndsWithRelu) {
  torch::nn::Sequential mlp = make_mlp(3, {4, 5}, 0);
  const at::Tensor y = mlp->forward(at::randn({20, 3}));
  EXPECT_EQ(y.sizes(), at::IntArrayRef({20, 5}));
  EXPECT_GE(y.min().item<float>(), 0);
}

TEST(MlpTest, WithoutHiddenLayersItIsLinear) {
  EXPECT_EQ(make_mlp(3, {}, 2)->named_parameters().size(), 2u);
}

TEST(MlpTest, InitialValuesAreBounded) {
  const auto mlp = make_mlp(100, {50}, 1, 0.5);
  const at::Tensor weight = mlp->named_parameters()["0.weight"];
  EXPECT_LE(weight.abs().max().item<float>(), 0.1f);
  EXPECT_GT(weight.abs().max().item<float>(), 0.09f);
}

}  // namespace
}  // namespace millrace
