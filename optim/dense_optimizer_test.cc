#include "optim/dense_optimizer.h"

#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>
#include <torch/types.h>

#include <cmath>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

// Two parameters with values of their own, the same at each call.
std::vector<at::Tensor> make_parameters() {
  return {torch::linspace(-1, 1, 6).view({2, 3}).requires_grad_(),
          torch::linspace(2, 3, 4).requires_grad_()};
}

void set_gradients(std::vector<at::Tensor>& parameters, int step) {
  for (at::Tensor& parameter : parameters) {
    parameter.mutable_grad() = (parameter.detach() * (step + 1)).sin();
  }
}

// Five steps of ours and of torch::optim from the same start: equal to the last bit.
void expect_equal(const DenseOptimizerConfig& config,
                  const std::function<std::unique_ptr<torch::optim::Optimizer>(
                      std::vector<at::Tensor>)>& make_reference) {
  std::vector<at::Tensor> ours = make_parameters(), theirs = make_parameters();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DenseOptimizer> optimizer,
                       create_dense_optimizer(config, {{"a", ours[0]}, {"b", ours[1]}}));
  EXPECT_THAT(optimizer->parameters(), ElementsAre("a", "b"));
  EXPECT_EQ(optimizer->learning_rate(Progress()), config.learning_rate());
  std::unique_ptr<torch::optim::Optimizer> reference = make_reference(theirs);
  Progress progress;
  for (int step = 0; step < 5; ++step, ++progress.step) {
    set_gradients(ours, step);
    set_gradients(theirs, step);
    ASSERT_OK(optimizer->step(progress));
    reference->step();
    for (size_t i = 0; i < ours.size(); ++i) EXPECT_TRUE(ours[i].equal(theirs[i])) << "step " << step;
  }
  EXPECT_FALSE(ours[0].equal(make_parameters()[0]));
  optimizer->zero_grad();
  EXPECT_FALSE(ours[0].grad().defined());
}

TEST(DenseOptimizerTest, Sgd) {
  DenseOptimizerConfig config;
  config.set_learning_rate(0.1);
  config.mutable_sgd()->set_momentum(0.8);
  config.mutable_sgd()->set_nesterov(true);
  config.mutable_sgd()->set_weight_decay(0.01);
  expect_equal(config, [](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::SGD>(
        parameters,
        torch::optim::SGDOptions(0.1).momentum(0.8).nesterov(true).weight_decay(0.01));
  });
}

TEST(DenseOptimizerTest, Adagrad) {
  DenseOptimizerConfig config;
  config.set_learning_rate(0.1);
  config.mutable_adagrad()->set_lr_decay(0.02);
  config.mutable_adagrad()->set_initial_accumulator(0.5);
  config.mutable_adagrad()->set_weight_decay(0.01);
  config.mutable_adagrad()->set_epsilon(1e-3);
  expect_equal(config, [](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::Adagrad>(parameters,
                                                   torch::optim::AdagradOptions(0.1)
                                                       .lr_decay(0.02)
                                                       .initial_accumulator_value(0.5)
                                                       .weight_decay(0.01)
                                                       .eps(1e-3));
  });
}

TEST(DenseOptimizerTest, Adam) {
  DenseOptimizerConfig config;
  config.set_learning_rate(0.01);
  config.mutable_adam()->set_beta1(0.8);
  config.mutable_adam()->set_weight_decay(0.1);
  expect_equal(config, [](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::Adam>(
        parameters,
        torch::optim::AdamOptions(0.01).betas(std::make_tuple(0.8, 0.999)).weight_decay(0.1));
  });
}

TEST(DenseOptimizerTest, AdamWithoutDecayIsTheDefault) {
  expect_equal(DenseOptimizerConfig(), [](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::Adam>(parameters, torch::optim::AdamOptions(0.001));
  });
}

TEST(DenseOptimizerTest, AdamW) {
  DenseOptimizerConfig config;
  config.set_learning_rate(0.01);
  config.mutable_adamw()->set_weight_decay(0.1);
  config.mutable_adamw()->set_epsilon(1e-4);
  expect_equal(config, [](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::AdamW>(
        parameters, torch::optim::AdamWOptions(0.01).weight_decay(0.1).eps(1e-4));
  });
}

TEST(DenseOptimizerTest, AParameterWithoutGradientStays) {
  std::vector<at::Tensor> parameters = make_parameters();
  ASSERT_OK_AND_ASSIGN(
      std::unique_ptr<DenseOptimizer> optimizer,
      create_dense_optimizer(DenseOptimizerConfig(), {{"a", parameters[0]}, {"b", parameters[1]}}));
  parameters[0].mutable_grad() = torch::ones({2, 3});
  EXPECT_OK(optimizer->step(Progress()));
  EXPECT_FALSE(parameters[0].equal(make_parameters()[0]));
  EXPECT_TRUE(parameters[1].equal(make_parameters()[1]));
}

TEST(DenseOptimizerTest, WhatLibTorchThrowsIsAStatus) {
  at::Tensor parameter = torch::ones({2}).requires_grad_();
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<DenseOptimizer> optimizer,
                       create_dense_optimizer(DenseOptimizerConfig(), {{"a", parameter}}));
  parameter.mutable_grad() =
      at::sparse_coo_tensor(torch::zeros({1, 1}, torch::kLong), torch::ones({1}), {2});
  EXPECT_THAT(optimizer->step(Progress()), StatusIs(absl::StatusCode::kInternal));
}

TEST(DenseOptimizerTest, RefusesBadNumbers) {
  auto refused = [](void (*change)(DenseOptimizerConfig&), const char* field) {
    DenseOptimizerConfig config;
    change(config);
    EXPECT_THAT(create_dense_optimizer(config, {{"a", torch::ones({1})}}),
                StatusIs(kInvalid, HasSubstr(field)));
  };
  refused([](DenseOptimizerConfig& c) { c.set_learning_rate(-1); }, "learning_rate");
  refused([](DenseOptimizerConfig& c) { c.set_learning_rate(NAN); }, "learning_rate");
  refused([](DenseOptimizerConfig& c) { c.mutable_sgd()->set_momentum(-1); }, "momentum");
  refused([](DenseOptimizerConfig& c) { c.mutable_sgd()->set_nesterov(true); }, "nesterov");
  refused([](DenseOptimizerConfig& c) { c.mutable_adagrad()->set_lr_decay(-1); }, "lr_decay");
  refused([](DenseOptimizerConfig& c) { c.mutable_adam()->set_beta1(1); }, "beta1");
  refused([](DenseOptimizerConfig& c) { c.mutable_adamw()->set_weight_decay(-1); }, "weight_decay");
}

DenseOptimizerConfig with_pattern(const char* pattern) {
  DenseOptimizerConfig config;
  config.set_pattern(pattern);
  return config;
}

std::vector<NamedParameter> named(const std::vector<std::string>& names) {
  std::vector<NamedParameter> parameters;
  for (const std::string& name : names) {
    parameters.push_back({name, torch::ones({1}).requires_grad_()});
  }
  return parameters;
}

TEST(DenseOptimizersTest, TheFirstMatchWins) {
  ASSERT_OK_AND_ASSIGN(
      auto optimizers,
      create_dense_optimizers({with_pattern("deep.*"), with_pattern("*.bias"), with_pattern("")},
                              named({"deep.0.weight", "deep.0.bias", "top.bias", "top.weight"})));
  ASSERT_EQ(optimizers.size(), 3);
  EXPECT_THAT(optimizers[0]->parameters(), ElementsAre("deep.0.weight", "deep.0.bias"));
  EXPECT_THAT(optimizers[1]->parameters(), ElementsAre("top.bias"));
  EXPECT_THAT(optimizers[2]->parameters(), ElementsAre("top.weight"));
}

TEST(DenseOptimizersTest, EveryParameterAndEveryPatternIsUsed) {
  EXPECT_THAT(create_dense_optimizers({with_pattern("deep.*")}, named({"deep.0", "top.bias"})),
              StatusIs(kInvalid, HasSubstr("top.bias")));
  EXPECT_THAT(
      create_dense_optimizers({with_pattern(""), with_pattern("top.bais")}, named({"top.bias"})),
      StatusIs(kInvalid, HasSubstr("did you mean \"top.bias\"")));
  EXPECT_THAT(create_dense_optimizers({}, named({"a"})), StatusIs(kInvalid));
}

TEST(DenseOptimizersTest, AModelWithoutParametersNeedsNone) {
  ASSERT_OK_AND_ASSIGN(auto optimizers, create_dense_optimizers({with_pattern("")}, {}));
  ASSERT_EQ(optimizers.size(), 1);
  EXPECT_OK(optimizers[0]->step(Progress()));
  EXPECT_OK(create_dense_optimizers({}, {}));
}

}  // namespace
}  // namespace millrace
