#include "losses/weighted_sum.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(WeightedSumTest, Sums) {
  const at::Tensor losses = at::tensor({1.0, 2.0, 4.0}, at::kDouble);
  EXPECT_EQ(weighted_sum(losses, at::Tensor()).item<double>(), 7);
  const at::Tensor sum = weighted_sum(losses, at::tensor({0.5f, 0.0f, 2.0f}));
  EXPECT_EQ(sum.item<double>(), 8.5);
  EXPECT_EQ(sum.scalar_type(), at::kDouble);
  EXPECT_EQ(sum.dim(), 0);
}

}  // namespace
}  // namespace millrace
