#include "optim/dense/slot_optimizer_kinds.h"

#include <torch/optim/rmsprop.h>
#include <torch/types.h>

#include <cmath>
#include <string>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

// Returns a weight of 2 after a step with rate 0.5 and this gradient.
double after_adamw_step(const Adam& config, double gradient) {
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
  EXPECT_NEAR(after_adamw_step(config, 3), 2 - 0.5 * 0.1 * 3 / (0.1 * 3 + 0.01), 1e-12);
  EXPECT_NEAR(after_adamw_step(config, -0.1), 2 + 0.5 * 0.1 * 0.1 / (0.1 * 0.1 + 0.01), 1e-12);
}

TEST(AdamwTfOptimizerTest, DecayIsTimesTheRate) {
  Adam config;
  config.set_weight_decay(0.1);
  EXPECT_DOUBLE_EQ(after_adamw_step(config, 0), 2 - 0.5 * 0.1 * 2);
}

// Returns the weight after one step with rate 0.5.
at::Tensor after_lamb_step(const Lamb& config, at::Tensor weight, const at::Tensor& gradient) {
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

// The ratio m / √v of the first step is the sign of the gradient, so that the update has the norm
// √2.
TEST(LambOptimizerTest, TheFirstStepIsAShareOfTheWeightsNorm) {
  const at::Tensor weight = after_lamb_step(exact(), torch::tensor({3.0, 4.0}, torch::kDouble),
                                            torch::tensor({0.01, -7.0}, torch::kDouble));
  const double step = 0.5 * 5 / std::sqrt(2);
  EXPECT_TRUE(weight.allclose(torch::tensor({3 - step, 4 + step}, torch::kDouble), 1e-12));
}

TEST(LambOptimizerTest, DecayIsAPartOfTheUpdateWhoseNormCounts) {
  Lamb config = exact();
  config.set_weight_decay(0.25);
  const at::Tensor weight = after_lamb_step(config, torch::tensor({8.0, 0.0}, torch::kDouble),
                                            torch::tensor({1.0, 4.0}, torch::kDouble));
  const double share = 0.5 * 8 / std::sqrt(3 * 3 + 1);  // the update is (1 + 0.25 * 8, 1)
  EXPECT_TRUE(weight.allclose(torch::tensor({8 - 3 * share, -share}, torch::kDouble), 1e-12));
}

TEST(LambOptimizerTest, TheNormOfTheWeightIsLimited) {
  Lamb config = exact();
  config.set_max_weight_norm(2);
  const at::Tensor weight = after_lamb_step(config, torch::tensor({3.0, 4.0}, torch::kDouble),
                                            torch::tensor({1.0, 1.0}, torch::kDouble));
  const double step = 0.5 * 2 / std::sqrt(2);
  EXPECT_TRUE(weight.allclose(torch::tensor({3 - step, 4 - step}, torch::kDouble), 1e-12));
}

TEST(LambOptimizerTest, WhereANormIsZeroTheRatioIsOne) {
  EXPECT_TRUE(after_lamb_step(exact(), torch::zeros({2}), torch::tensor({2.0f, -3.0f}))
                  .allclose(torch::tensor({-0.5f, 0.5f}), 1e-6));
  EXPECT_TRUE(after_lamb_step(Lamb(), torch::tensor({2.0f, -3.0f}), torch::zeros({2}))
                  .equal(torch::tensor({2.0f, -3.0f})));
  EXPECT_TRUE(
      after_lamb_step(Lamb(), torch::zeros({2}), torch::zeros({2})).equal(torch::zeros({2})));
}

// The ratio √98 / √2 is 7 only if neither norm is rounded to float32, as LibTorch's are.
TEST(LambOptimizerTest, NormsAreSumsInDouble) {
  Lamb config = exact();
  config.set_beta1(0);
  config.set_beta2(0);
  EXPECT_TRUE(after_lamb_step(config, torch::tensor({7.0f, 7.0f}), torch::tensor({2.0f, -3.0f}))
                  .equal(torch::tensor({3.5f, 10.5f})));
}

using testing::ElementsAre;

constexpr double kRate = 0.05;

std::unique_ptr<DenseOptimizer> make(const Rmsprop& config, const at::Tensor& weight) {
  DenseOptimizerConfig whole;
  *whole.mutable_rmsprop() = config;
  return RmspropOptimizer::create(whole, {{"w", weight}}, make_schedule("constant {}", kRate));
}

// Expects that twelve steps equal twelve steps of torch::optim to the last bit.
void expect_equal(const Rmsprop& config) {
  SCOPED_TRACE(config.ShortDebugString());
  at::Tensor ours = torch::linspace(-1, 1, 6).requires_grad_();
  at::Tensor theirs = torch::linspace(-1, 1, 6).requires_grad_();
  auto optimizer = make(config, ours);
  torch::optim::RMSprop reference({theirs}, torch::optim::RMSpropOptions(kRate)
                                                .alpha(config.alpha())
                                                .eps(config.epsilon())
                                                .weight_decay(config.weight_decay())
                                                .momentum(config.momentum())
                                                .centered(config.centered()));
  for (int step = 0; step < 12; ++step) {
    for (at::Tensor* weight : {&ours, &theirs}) {
      weight->mutable_grad() = (weight->detach() * (step + 1)).sin();
    }
    ASSERT_OK(optimizer->step({.step = step}));
    reference.step();
    ASSERT_TRUE(ours.equal(theirs)) << "step " << step;
  }
}

TEST(RmspropOptimizerTest, EqualsThatOfLibTorch) {
  Rmsprop config;
  expect_equal(config);
  config.set_alpha(0.9);
  config.set_epsilon(0.01);
  config.set_weight_decay(0.1);
  expect_equal(config);
  config.set_momentum(0.8);
  expect_equal(config);
  config.set_centered(true);
  expect_equal(config);
  config.set_momentum(0);
  expect_equal(config);
  config.set_alpha(0);
  config.set_centered(false);
  expect_equal(config);
}

TEST(RmspropOptimizerTest, KeepsWhatItsOptionsNeed) {
  const auto names = [](const char* field, Rmsprop config) {
    SCOPED_TRACE(field);
    at::Tensor weight = torch::ones({2}).requires_grad_();
    weight.mutable_grad() = torch::ones({2});
    auto optimizer = make(config, weight);
    EXPECT_OK(optimizer->step(Progress()));
    std::vector<std::string> names;
    for (const NamedParameter& one : optimizer->state()) names.push_back(one.name);
    return names;
  };
  Rmsprop config;
  EXPECT_THAT(names("neither", config), ElementsAre("w/step", "w/square_avg"));
  config.set_centered(true);
  EXPECT_THAT(names("centered", config), ElementsAre("w/step", "w/square_avg", "w/grad_avg"));
  config.set_momentum(0.5);
  EXPECT_THAT(names("both", config),
              ElementsAre("w/step", "w/square_avg", "w/momentum_buffer", "w/grad_avg"));
  config.set_centered(false);
  EXPECT_THAT(names("momentum", config),
              ElementsAre("w/step", "w/square_avg", "w/momentum_buffer"));
}

}  // namespace
}  // namespace millrace
