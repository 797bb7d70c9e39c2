#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "losses/example_losses.h"
#include "losses/loss_conformance.h"
#include "losses/loss_testing.h"

namespace millrace {
namespace {

// Computes the loss from probabilities; the loss under test works on logits.
PlainLoss plain(double label_smoothing, double positive_weight) {
  return [=](const at::Tensor& outputs, const LossExamples& examples) {
    const at::Tensor y = examples.labels * (1 - label_smoothing) + label_smoothing / 2;
    const at::Tensor p = 1 / (1 + (-outputs).exp());
    at::Tensor losses = -(positive_weight * y * p.log() + (1 - y) * (1 - p).log());
    if (examples.weights.defined()) losses = losses * examples.weights;
    return losses.sum();
  };
}

[[maybe_unused]] const bool kDefaultLoss = register_loss_conformance(
    "DefaultLoss", {.make = [] { return make_test_loss(""); }, .plain = plain(0, 1)});

[[maybe_unused]] const bool kBinaryCrossEntropy = register_loss_conformance(
    "BinaryCrossEntropy",
    {.make = [] { return make_test_loss("binary_cross_entropy {}"); }, .plain = plain(0, 1)});

[[maybe_unused]] const bool kBinaryCrossEntropyWithSmoothing = register_loss_conformance(
    "BinaryCrossEntropyWithSmoothing",
    {.make = [] { return make_test_loss("binary_cross_entropy { label_smoothing: 0.1 }"); },
     .plain = plain(0.1, 1)});

[[maybe_unused]] const bool kBinaryCrossEntropyWithPositiveWeight = register_loss_conformance(
    "BinaryCrossEntropyWithPositiveWeight",
    {.make = [] { return make_test_loss("binary_cross_entropy { positive_weight: 4.5 }"); },
     .plain = plain(0, 4.5)});

[[maybe_unused]] const bool kBinaryCrossEntropyWithBoth = register_loss_conformance(
    "BinaryCrossEntropyWithBoth",
    {.make =
         [] {
           return make_test_loss(
               "binary_cross_entropy { label_smoothing: 0.2 positive_weight: 0.3 }");
         },
     .plain = plain(0.2, 0.3)});

[[maybe_unused]] const bool kBinaryCrossEntropyOfLabelsBetween = register_loss_conformance(
    "BinaryCrossEntropyOfLabelsBetween",
    {.make = [] { return make_test_loss("binary_cross_entropy { positive_weight: 2 }"); },
     .plain = plain(0, 2),
     .change = [](LossExamples& e) { e.labels = e.labels * 0.6 + 0.2; }});

TEST(BinaryCrossEntropyLossTest, ByHand) {
  LossExamples examples;
  examples.labels = at::tensor({1.0, 0.0}, at::kDouble);
  const at::Tensor outputs = at::tensor({0.0, 2.0}, at::kDouble);
  const auto loss = make_test_loss("binary_cross_entropy { positive_weight: 3 }");
  EXPECT_NEAR(loss->sum(outputs, examples).item<double>(),
              3 * std::log(2.0) + std::log1p(std::exp(2.0)), 1e-12);
}

TEST(BinaryCrossEntropyLossTest, PredictsProbabilities) {
  const auto loss = make_test_loss("");
  EXPECT_TRUE(loss->predicts_probabilities());
  EXPECT_EQ(loss->labels(), LossLabels::kProbabilities);
  EXPECT_EQ(loss->predict(at::zeros({1}))[0].item<float>(), 0.5f);
}

}  // namespace
}  // namespace millrace
