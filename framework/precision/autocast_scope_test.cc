#include "framework/precision/autocast_scope.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>
#include <torch/types.h>

#include <stdexcept>

namespace millrace {
namespace {

at::ScalarType type_of_product() {
  return at::mm(at::ones({2, 3}), at::ones({3, 2})).scalar_type();
}

TEST(AutocastScopeTest, MatrixProductsHaveTheType) {
  {
    const AutocastScope scope(PrecisionConfig::BFLOAT16);
    EXPECT_EQ(type_of_product(), at::kBFloat16);
  }
  {
    const AutocastScope scope(PrecisionConfig::FLOAT16);
    EXPECT_EQ(type_of_product(), at::kHalf);
  }
  {
    const AutocastScope scope(PrecisionConfig::FLOAT32);
    EXPECT_EQ(type_of_product(), at::kFloat);
  }
  EXPECT_EQ(type_of_product(), at::kFloat);
}

TEST(AutocastScopeTest, TheFormerStateComesBack) {
  const at::ScalarType before = at::autocast::get_autocast_dtype(at::kCPU);
  EXPECT_THROW(
      {
        const AutocastScope outer(PrecisionConfig::BFLOAT16);
        {
          const AutocastScope inner(PrecisionConfig::FLOAT16);
          const AutocastScope innermost(PrecisionConfig::FLOAT32);
          EXPECT_EQ(type_of_product(), at::kFloat);
        }
        EXPECT_EQ(type_of_product(), at::kBFloat16);
        throw std::runtime_error("planted");
      },
      std::runtime_error);
  EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
  EXPECT_EQ(at::autocast::get_autocast_dtype(at::kCPU), before);
  EXPECT_EQ(type_of_product(), at::kFloat);
}

// A conversion that outlived the scope would hide an update of a parameter from the next step.
TEST(AutocastScopeTest, UpdatedParametersAreConvertedAnew) {
  torch::nn::Linear linear(torch::nn::LinearOptions(1, 1).bias(false));
  const auto output = [&] {
    const AutocastScope scope(PrecisionConfig::BFLOAT16);
    return linear->forward(torch::ones({1, 1})).item<float>();
  };
  for (const float weight : {1.0F, 3.0F}) {
    {
      const torch::NoGradGuard no_gradients;
      linear->weight.fill_(weight);
    }
    EXPECT_EQ(output(), weight);
  }
}

TEST(AutocastScopeTest, GradientsOfParametersAndInputsAreFloat32) {
  torch::nn::Linear linear(4, 3);
  const at::Tensor input = torch::ones({2, 4}, torch::requires_grad());
  at::Tensor loss;
  {
    const AutocastScope scope(PrecisionConfig::BFLOAT16);
    loss = linear->forward(input).to(at::kFloat).sum();
  }
  loss.backward();
  EXPECT_EQ(linear->weight.grad().scalar_type(), at::kFloat);
  EXPECT_EQ(input.grad().scalar_type(), at::kFloat);
}

}  // namespace
}  // namespace millrace
