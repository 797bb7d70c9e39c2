#include "optim/dense/rmsprop_optimizer.h"

#include <torch/optim/rmsprop.h>
#include <torch/types.h>

#include <string>

#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

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
