// Tests the noise of the train step. conformance_test.cc tests the promises of a train step.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "base/status_matchers.h"
#include "examples/own_job/own_job.pb.h"
#include "framework/loop/train_step.h"
#include "framework/model/model.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

constexpr int64_t kNumbers = 20'000;  // of the largest parameter
constexpr double kLearningRate = 0.1;

// Returns the largest parameter after `steps` steps of SGD, float32 [kNumbers, 1].
at::Tensor trained(double stddev, uint64_t seed, int64_t steps = 1) {
  CustomConfig config;
  config.set_name("gradient_noise");
  config.MutableExtension(gradient_noise)->set_stddev(stddev);
  TinyTrainerOptions options;
  options.train.dense = kNumbers;
  options.optimizer = "sgd";
  options.learning_rate = kLearningRate;
  options.trainer.seed = seed;
  options.trainer.max_steps = steps;
  TrainerParts parts = tiny_parts(options);
  parts.evaluation_sets.clear();
  parts.train_step = train_step_registry().create(config).value();
  const std::shared_ptr<Model> model = parts.model;
  auto trainer = Trainer::create(options.trainer, std::move(parts));
  EXPECT_OK(trainer.status());
  EXPECT_OK((*trainer)->train().status());
  return model->named_parameters()["weight"].detach().clone();
}

// Returns the noise in the gradient of the first step.
at::Tensor noise(double stddev, uint64_t seed) {
  return ((trained(0, seed) - trained(stddev, seed)) / kLearningRate).to(at::kDouble);
}

TEST(GradientNoiseStepTest, NoiseHasTheMeanAndTheDeviation) {
  for (const double stddev : {0.5, 2.0}) {
    const at::Tensor sample = noise(stddev, 1);
    ASSERT_EQ(sample.numel(), kNumbers);
    // Five standard errors of the mean; the relative standard error of the variance is 1 %.
    EXPECT_NEAR(sample.mean().item<double>(), 0, 5 * stddev / std::sqrt(kNumbers));
    EXPECT_NEAR(sample.square().mean().item<double>(), stddev * stddev, 0.05 * stddev * stddev);
    // A normal distribution has 68.3 % within one deviation.
    const double within = (sample.abs() < stddev).to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(within, 0.683, 0.02);
  }
}

TEST(GradientNoiseStepTest, TheSeedDecidesTheNoise) {
  EXPECT_TRUE(at::equal(trained(0.5, 1), trained(0.5, 1)));
  EXPECT_FALSE(at::allclose(noise(0.5, 1), noise(0.5, 2)));
}

TEST(GradientNoiseStepTest, EachStepHasItsOwnNoise) {
  // Equal noise in both steps would have four times the variance of one step instead of twice. The
  // loss is so small a share of each gradient that the rest of the gradient hardly differs.
  const at::Tensor both = ((trained(0, 1, 2) - trained(100, 1, 2)) / kLearningRate).to(at::kDouble);
  EXPECT_NEAR(both.square().mean().item<double>(), 2 * 100 * 100, 0.1 * 100 * 100);
}

}  // namespace
}  // namespace millrace
