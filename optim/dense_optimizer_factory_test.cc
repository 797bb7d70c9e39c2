#include "optim/dense_optimizer_factory.h"

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

// Returns two parameters with different values, the same at each call.
std::vector<at::Tensor> make_parameters() {
  return {torch::linspace(-1, 1, 6).view({2, 3}).requires_grad_(),
          torch::linspace(2, 3, 4).requires_grad_()};
}

void set_gradients(std::vector<at::Tensor>& parameters, int step) {
  for (at::Tensor& parameter : parameters) {
    parameter.mutable_grad() = (parameter.detach() * (step + 1)).sin();
  }
}

// Expects that five steps of the factory's optimizer and of torch::optim from the same start are
// equal to the last bit.
void expect_equal(
    const DenseOptimizerConfig& config,
    const std::function<std::unique_ptr<torch::optim::Optimizer>(std::vector<at::Tensor>)>&
        make_reference) {
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
    for (size_t i = 0; i < ours.size(); ++i)
      EXPECT_TRUE(ours[i].equal(theirs[i])) << "step " << step;
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
        parameters, torch::optim::SGDOptions(0.1).momentum(0.8).nesterov(true).weight_decay(0.01));
  });
}

TEST(DenseOptimizerTest, ASchedulesRateIsThatOfTheStep) {
  DenseOptimizerConfig config;
  config.set_learning_rate(0.8);
  config.mutable_sgd();
  config.mutable_schedule()->mutable_linear_warmup()->mutable_length()->set_share(0.5);
  at::Tensor parameter = torch::zeros({1}).requires_grad_();
  ScheduleTotals totals;
  totals.steps = 8;
  ASSERT_OK_AND_ASSIGN(auto optimizer, create_dense_optimizer(config, {{"a", parameter}}, totals));
  double expected = 0;
  for (Progress progress; progress.step < 6; ++progress.step) {
    const double rate = 0.8 * std::min<double>(1, progress.step / 4.0);
    EXPECT_DOUBLE_EQ(optimizer->learning_rate(progress), rate);
    parameter.mutable_grad() = torch::ones({1});
    ASSERT_OK(optimizer->step(progress));
    expected -= rate;
    EXPECT_NEAR(parameter.item<double>(), expected, 1e-6);
  }
  EXPECT_THAT(create_dense_optimizer(config, {{"a", parameter}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("share")));
}

TEST(DenseOptimizerTest, Adagrad) {
  DenseOptimizerConfig config;
  config.set_learning_rate(0.1);
  config.mutable_adagrad()->set_lr_decay(0.02);
  config.mutable_adagrad()->set_initial_accumulator(0.5);
  config.mutable_adagrad()->set_weight_decay(0.01);
  config.mutable_adagrad()->set_epsilon(1e-3);
  expect_equal(config, [](std::vector<at::Tensor> parameters) {
    return std::make_unique<torch::optim::Adagrad>(parameters, torch::optim::AdagradOptions(0.1)
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

std::vector<DenseOptimizerConfig> kinds_with_state() {
  std::vector<DenseOptimizerConfig> configs(9);
  for (DenseOptimizerConfig& config : configs) config.set_learning_rate(0.05);
  configs[0].mutable_sgd();
  configs[1].mutable_sgd()->set_momentum(0.9);
  configs[2].mutable_adagrad()->set_lr_decay(0.1);
  configs[3].mutable_adam();
  configs[4].mutable_adamw()->set_weight_decay(0.1);
  configs[5].mutable_adamw_tf()->set_weight_decay(0.1);
  configs[6].mutable_rmsprop();
  configs[7].mutable_rmsprop()->set_momentum(0.9);
  configs[7].mutable_rmsprop()->set_centered(true);
  configs[8].mutable_lamb()->set_weight_decay(0.1);
  return configs;
}

struct Trained {
  explicit Trained(const DenseOptimizerConfig& config) : parameters(make_parameters()) {
    auto made = create_dense_optimizer(config, {{"a.weight", parameters[0]}, {"b", parameters[1]}});
    EXPECT_OK(made);
    optimizer = *std::move(made);
  }
  // The second parameter has a gradient from step `second_from` on.
  void step(int number, int second_from) {
    set_gradients(parameters, number);
    if (number < second_from) parameters[1].mutable_grad() = at::Tensor();
    EXPECT_OK(optimizer->step({.step = number}));
  }
  std::vector<at::Tensor> parameters;
  std::unique_ptr<DenseOptimizer> optimizer;
};

std::vector<std::string> names_of(const std::vector<NamedParameter>& state) {
  std::vector<std::string> names;
  for (const NamedParameter& one : state) names.push_back(one.name);
  return names;
}

void expect_same_state(const DenseOptimizer& a, const DenseOptimizer& b) {
  const std::vector<NamedParameter> one = a.state(), other = b.state();
  ASSERT_EQ(names_of(one), names_of(other));
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_TRUE(one[i].value.equal(other[i].value)) << one[i].name;
  }
}

TEST(DenseOptimizerStateTest, NamesAreByParameter) {
  const std::vector<std::vector<std::string>> kNames = {
      {},
      {"a.weight/momentum_buffer"},
      {"a.weight/step", "a.weight/sum", "b/step", "b/sum"},
      {"a.weight/step", "a.weight/exp_avg", "a.weight/exp_avg_sq"},
      {"a.weight/step", "a.weight/exp_avg", "a.weight/exp_avg_sq"},
      {"a.weight/step", "a.weight/exp_avg", "a.weight/exp_avg_sq"},
      {"a.weight/step", "a.weight/square_avg"},
      {"a.weight/step", "a.weight/square_avg", "a.weight/momentum_buffer", "a.weight/grad_avg"},
      {"a.weight/step", "a.weight/exp_avg", "a.weight/exp_avg_sq"}};
  const std::vector<DenseOptimizerConfig> configs = kinds_with_state();
  ASSERT_EQ(configs.size(), kNames.size());
  for (size_t i = 0; i < configs.size(); ++i) {
    Trained trained(configs[i]);
    trained.step(0, /*second_from=*/1);
    EXPECT_EQ(names_of(trained.optimizer->state()), kNames[i]);
  }
}

// Also resumes from before the first step, and from a step before a parameter had its first
// gradient.
TEST(DenseOptimizerStateTest, GoesOnAsIfNothingHadBeenFromEveryStep) {
  constexpr int kSteps = 6, kSecondFrom = 3;
  for (const DenseOptimizerConfig& config : kinds_with_state()) {
    for (int cut = 0; cut <= kSteps; ++cut) {
      SCOPED_TRACE(absl::StrCat(config.ShortDebugString(), " from step ", cut));
      Trained whole(config), first(config), second(config);
      for (int s = 0; s < kSteps; ++s) whole.step(s, kSecondFrom);
      for (int s = 0; s < cut; ++s) first.step(s, kSecondFrom);
      second.step(0, 0);  // loading must replace this state
      ASSERT_OK(second.optimizer->load_state(first.optimizer->state()));
      expect_same_state(*first.optimizer, *second.optimizer);
      torch::NoGradGuard guard;
      for (int i = 0; i < 2; ++i) second.parameters[i].copy_(first.parameters[i]);
      first.step(90, 0);  // the loaded tensors must be copies
      for (int s = cut; s < kSteps; ++s) second.step(s, kSecondFrom);
      expect_same_state(*whole.optimizer, *second.optimizer);
      for (int i = 0; i < 2; ++i) {
        EXPECT_TRUE(whole.parameters[i].equal(second.parameters[i]));
      }
    }
  }
}

TEST(DenseOptimizerStateTest, AllDifferencesAreListedAndNothingChanges) {
  DenseOptimizerConfig config;
  Trained trained(config);
  trained.step(0, 0);
  Trained before(config);
  before.step(0, 0);
  std::vector<NamedParameter> state = trained.optimizer->state();
  state[0].value = torch::zeros({1}, torch::kLong);    // a.weight/step
  state[1].value = state[1].value.to(torch::kDouble);  // a.weight/exp_avg
  state[2].name = "a.weigth/exp_avg_sq";
  state[5].value = at::Tensor();  // b/exp_avg_sq
  state.push_back(state[3]);      // b/step
  EXPECT_THAT(
      trained.optimizer->state_differences(state),
      ElementsAre(
          "optimizer state \"b/step\" is there twice",
          "optimizer state \"a.weight/step\" is int64 [1]; it must be int64 []",
          "optimizer state \"a.weight/exp_avg\" is float64 [2, 3]; it must be float32 [2, 3]",
          "optimizer state \"a.weight/exp_avg_sq\" is missing",
          "optimizer state \"b/exp_avg_sq\" is undefined; it must be float32 [4]",
          "optimizer state \"a.weigth/exp_avg_sq\" is not one of this optimizer; did you mean "
          "\"a.weight/exp_avg_sq\"?"));
  EXPECT_THAT(trained.optimizer->load_state(state), StatusIs(kInvalid, HasSubstr("b/step")));
  expect_same_state(*trained.optimizer, *before.optimizer);
}

TEST(DenseOptimizerStateTest, AdagradKnowsEveryParameterFromTheBeginning) {
  DenseOptimizerConfig config;
  config.mutable_adagrad()->set_initial_accumulator(0.5);
  Trained trained(config);
  EXPECT_THAT(trained.optimizer->state_differences({}),
              ElementsAre(HasSubstr("\"a.weight/step\" is missing"), HasSubstr("a.weight/sum"),
                          HasSubstr("b/step"), HasSubstr("b/sum")));
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
  refused([](DenseOptimizerConfig& c) { c.mutable_adagrad()->set_epsilon(0); }, "epsilon is 0");
  refused([](DenseOptimizerConfig& c) { c.mutable_adam()->set_epsilon(0); }, "epsilon is 0");
  refused([](DenseOptimizerConfig& c) { c.mutable_adamw()->set_epsilon(0); }, "epsilon is 0");
  refused([](DenseOptimizerConfig& c) { c.mutable_adamw()->set_weight_decay(-1); }, "weight_decay");
  refused([](DenseOptimizerConfig& c) { c.mutable_adamw_tf()->set_epsilon(0); }, "epsilon is 0");
  refused([](DenseOptimizerConfig& c) { c.mutable_rmsprop()->set_alpha(1); }, "alpha is 1");
  refused([](DenseOptimizerConfig& c) { c.mutable_lamb()->set_max_weight_norm(-1); },
          "max_weight_norm is -1");
  refused([](DenseOptimizerConfig& c) { c.set_frozen(true); }, "frozen");
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

DenseOptimizerConfig frozen(const char* pattern) {
  DenseOptimizerConfig config = with_pattern(pattern);
  config.set_frozen(true);
  return config;
}

TEST(DenseOptimizersTest, FrozenParametersNeedNoGradientAndHaveNoOptimizer) {
  const std::vector<NamedParameter> parameters = named({"deep.0", "deep.1", "top"});
  ASSERT_OK_AND_ASSIGN(auto optimizers,
                       create_dense_optimizers({frozen("deep.*"), with_pattern("")}, parameters));
  ASSERT_EQ(optimizers.size(), 1);
  EXPECT_THAT(optimizers[0]->parameters(), ElementsAre("top"));
  EXPECT_FALSE(parameters[0].value.requires_grad());
  EXPECT_FALSE(parameters[1].value.requires_grad());
  EXPECT_TRUE(parameters[2].value.requires_grad());
  (parameters[0].value * parameters[2].value).sum().backward();
  EXPECT_FALSE(parameters[0].value.grad().defined());
  ASSERT_OK(optimizers[0]->step(Progress()));
  EXPECT_EQ(parameters[0].value.item<double>(), 1);
  EXPECT_NE(parameters[2].value.item<double>(), 1);
}

TEST(DenseOptimizersTest, AllParametersMayBeFrozen) {
  const std::vector<NamedParameter> parameters = named({"a", "b"});
  ASSERT_OK_AND_ASSIGN(auto optimizers, create_dense_optimizers({frozen("")}, parameters));
  EXPECT_TRUE(optimizers.empty());
  EXPECT_FALSE(parameters[1].value.requires_grad());
}

TEST(DenseOptimizersTest, FrozenPatternsAreCheckedLikeOthers) {
  EXPECT_THAT(create_dense_optimizers({frozen("top.bais"), with_pattern("")}, named({"top.bias"})),
              StatusIs(kInvalid, HasSubstr("did you mean \"top.bias\"")));
  DenseOptimizerConfig with_kind = frozen("");
  with_kind.mutable_lamb();
  EXPECT_THAT(create_dense_optimizers({with_kind}, named({"a"})),
              StatusIs(kInvalid, HasSubstr("frozen: a kind would do nothing")));
}

TEST(DenseOptimizersTest, AModelWithoutParametersNeedsNone) {
  ASSERT_OK_AND_ASSIGN(auto optimizers, create_dense_optimizers({with_pattern("")}, {}));
  ASSERT_EQ(optimizers.size(), 1);
  EXPECT_OK(optimizers[0]->step(Progress()));
  EXPECT_OK(create_dense_optimizers({}, {}));
}

}  // namespace
}  // namespace millrace
