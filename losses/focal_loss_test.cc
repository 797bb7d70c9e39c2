#include "losses/focal_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

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

TEST(FocalLossTest, Conformance) {
  test_loss_conformance(*make_test_loss("focal {}"), plain(2, 1, 1));
  test_loss_conformance(*make_test_loss("focal { gamma: 0.5 alpha: 0.25 }"),
                        plain(0.5, 0.25, 0.75));
  test_loss_conformance(*make_test_loss("focal { gamma: 3 alpha: 1 }"), plain(3, 1, 0));
  test_loss_conformance(*make_test_loss("focal { gamma: 1 alpha: 0 }"), plain(1, 0, 1));
}

TEST(FocalLossTest, WithoutFocusItIsCrossEntropy) {
  test_loss_conformance(
      *make_test_loss("focal { gamma: 0 }"),
      [](const at::Tensor& outputs, const LossExamples& examples) {
        return make_test_loss("binary_cross_entropy {}")->sum(outputs, examples);
      },
      // Also between 0 and 1.
      [](LossExamples& examples) { examples.labels = examples.labels * 0.6 + 0.2; });
}

TEST(FocalLossTest, PredictsProbabilities) {
  const auto loss = make_test_loss("focal {}");
  EXPECT_TRUE(loss->predicts_probabilities());
  EXPECT_EQ(loss->labels(), LossLabels::kProbabilities);
  EXPECT_NEAR(loss->predict(at::ones({1}))[0].item<double>(), 1 / (1 + std::exp(-1.0)), 1e-6);
}

}  // namespace
}  // namespace millrace
