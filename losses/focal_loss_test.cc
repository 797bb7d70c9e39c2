#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "losses/example_losses.h"
#include "losses/loss_conformance.h"
#include "losses/loss_testing.h"

namespace millrace {
namespace {

// The formula of the paper: -alpha_t (1 - p_t)^gamma ln p_t.
PlainLoss plain(double gamma, double positive_weight, double negative_weight) {
  return [=](const at::Tensor& outputs, const LossExamples& examples) {
    const at::Tensor& y = examples.labels;
    const at::Tensor p = 1 / (1 + (-outputs).exp());
    const at::Tensor of_truth = y * p + (1 - y) * (1 - p);
    const at::Tensor alpha = y * positive_weight + (1 - y) * negative_weight;
    at::Tensor losses = -alpha * (1 - of_truth).pow(gamma) * of_truth.log();
    if (examples.weights.defined()) losses = losses * examples.weights;
    return losses.sum();
  };
}

at::Tensor cross_entropy(const at::Tensor& outputs, const LossExamples& examples) {
  return make_test_loss("binary_cross_entropy {}")->sum(outputs, examples);
}

[[maybe_unused]] const bool kFocal = register_loss_conformance(
    "Focal", {.make = [] { return make_test_loss("focal {}"); }, .plain = plain(2, 1, 1)});

[[maybe_unused]] const bool kFocalWithAlpha = register_loss_conformance(
    "FocalWithAlpha", {.make = [] { return make_test_loss("focal { gamma: 0.5 alpha: 0.25 }"); },
                       .plain = plain(0.5, 0.25, 0.75)});

[[maybe_unused]] const bool kFocalOfPositives = register_loss_conformance(
    "FocalOfPositives", {.make = [] { return make_test_loss("focal { gamma: 3 alpha: 1 }"); },
                         .plain = plain(3, 1, 0)});

[[maybe_unused]] const bool kFocalOfNegatives = register_loss_conformance(
    "FocalOfNegatives", {.make = [] { return make_test_loss("focal { gamma: 1 alpha: 0 }"); },
                         .plain = plain(1, 0, 1)});

[[maybe_unused]] const bool kFocalWithoutFocus = register_loss_conformance(
    "FocalWithoutFocus", {.make = [] { return make_test_loss("focal { gamma: 0 }"); },
                          .plain = cross_entropy,
                          .change = [](LossExamples& e) { e.labels = e.labels * 0.6 + 0.2; }});

TEST(FocalLossTest, PredictsProbabilities) {
  const auto loss = make_test_loss("focal {}");
  EXPECT_TRUE(loss->predicts_probabilities());
  EXPECT_EQ(loss->labels(), LossLabels::kProbabilities);
  EXPECT_NEAR(loss->predict(at::ones({1}))[0].item<double>(), 1 / (1 + std::exp(-1.0)), 1e-6);
}

}  // namespace
}  // namespace millrace
