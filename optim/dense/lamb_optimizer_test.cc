#include "optim/dense/lamb_optimizer.h"

#include <torch/types.h>

#include <cmath>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

// Returns the weight after one step with rate 0.5.
at::Tensor after_step(const Lamb& config, at::Tensor weight, const at::Tensor& gradient) {
  DenseOptimizerConfig whole;
  *whole.mutable_lamb() = config;
  weight.requires_grad_();
  weight.mutable_grad() = gradient;
  auto optimizer = LambOptimizer::create(whole, {{"w", weight}}, make_schedule("constant {}", 0.5));
  EXPECT_OK(optimizer->step(Progress()));
  return weight.detach();
}

Lamb exact() {
  Lamb config;
  config.set_epsilon(1e-300);  // negligible for any gradient
  return config;
}

// In the first step m / √v is the sign of the gradient, so that the update has the norm √2.
TEST(LambOptimizerTest, TheFirstStepIsAShareOfTheWeightsNorm) {
  const at::Tensor weight = after_step(exact(), torch::tensor({3.0, 4.0}, torch::kDouble),
                                       torch::tensor({0.01, -7.0}, torch::kDouble));
  const double step = 0.5 * 5 / std::sqrt(2);
  EXPECT_TRUE(weight.allclose(torch::tensor({3 - step, 4 + step}, torch::kDouble), 1e-12));
}

TEST(LambOptimizerTest, DecayIsAPartOfTheUpdateWhoseNormCounts) {
  Lamb config = exact();
  config.set_weight_decay(0.25);
  const at::Tensor weight = after_step(config, torch::tensor({8.0, 0.0}, torch::kDouble),
                                       torch::tensor({1.0, 4.0}, torch::kDouble));
  const double share = 0.5 * 8 / std::sqrt(3 * 3 + 1);  // the update is (1 + 0.25 * 8, 1)
  EXPECT_TRUE(weight.allclose(torch::tensor({8 - 3 * share, -share}, torch::kDouble), 1e-12));
}

TEST(LambOptimizerTest, TheNormOfTheWeightIsLimited) {
  Lamb config = exact();
  config.set_max_weight_norm(2);
  const at::Tensor weight = after_step(config, torch::tensor({3.0, 4.0}, torch::kDouble),
                                       torch::tensor({1.0, 1.0}, torch::kDouble));
  const double step = 0.5 * 2 / std::sqrt(2);
  EXPECT_TRUE(weight.allclose(torch::tensor({3 - step, 4 - step}, torch::kDouble), 1e-12));
}

TEST(LambOptimizerTest, WhereANormIsZeroTheRatioIsOne) {
  EXPECT_TRUE(after_step(exact(), torch::zeros({2}), torch::tensor({2.0f, -3.0f}))
                  .allclose(torch::tensor({-0.5f, 0.5f}), 1e-6));
  EXPECT_TRUE(after_step(Lamb(), torch::tensor({2.0f, -3.0f}), torch::zeros({2}))
                  .equal(torch::tensor({2.0f, -3.0f})));
  EXPECT_TRUE(after_step(Lamb(), torch::zeros({2}), torch::zeros({2})).equal(torch::zeros({2})));
}

}  // namespace
}  // namespace millrace
