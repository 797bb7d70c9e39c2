#include "optim/dense/adamw_tf_optimizer.h"

#include <torch/types.h>

#include <cmath>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

// Returns a weight of 2 after a step with rate 0.5 and this gradient.
double after_step(const Adam& config, double gradient) {
  DenseOptimizerConfig whole;
  *whole.mutable_adamw_tf() = config;
  at::Tensor weight = torch::full({1}, 2.0, torch::kDouble).requires_grad_();
  weight.mutable_grad() = torch::full({1}, gradient, torch::kDouble);
  auto optimizer =
      AdamwTfOptimizer::create(whole, {{"w", weight}}, make_schedule("constant {}", 0.5));
  EXPECT_OK(optimizer->step(Progress()));
  return weight.item<double>();
}

// torch.optim.AdamW has epsilon in place of epsilon / √(1 − beta2).
TEST(AdamwTfOptimizerTest, EpsilonIsAddedBeforeTheCorrection) {
  Adam config;
  config.set_beta2(0.99);
  config.set_epsilon(0.01);
  // √(1 − beta2) is 0.1.
  EXPECT_NEAR(after_step(config, 3), 2 - 0.5 * 0.1 * 3 / (0.1 * 3 + 0.01), 1e-12);
  EXPECT_NEAR(after_step(config, -0.1), 2 + 0.5 * 0.1 * 0.1 / (0.1 * 0.1 + 0.01), 1e-12);
}

TEST(AdamwTfOptimizerTest, DecayIsTimesTheRate) {
  Adam config;
  config.set_weight_decay(0.1);
  EXPECT_DOUBLE_EQ(after_step(config, 0), 2 - 0.5 * 0.1 * 2);
}

}  // namespace
}  // namespace millrace
