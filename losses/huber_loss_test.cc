#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "losses/example_losses.h"
#include "losses/loss_conformance.h"
#include "losses/loss_testing.h"

namespace millrace {
namespace {

PlainLoss plain(double delta) {
  return [=](const at::Tensor& outputs, const LossExamples& examples) {
    const at::Tensor e = (outputs - examples.labels).abs();
    at::Tensor losses = at::where(e <= delta, 0.5 * e * e, delta * (e - 0.5 * delta));
    if (examples.weights.defined()) losses = losses * examples.weights;
    return losses.sum();
  };
}

[[maybe_unused]] const bool kHuber = register_loss_conformance(
    "Huber", {.make = [] { return make_test_loss("huber {}"); }, .plain = plain(1)});

[[maybe_unused]] const bool kHuberOfWideDelta = register_loss_conformance(
    "HuberOfWideDelta",
    {.make = [] { return make_test_loss("huber { delta: 3.5 }"); }, .plain = plain(3.5)});

[[maybe_unused]] const bool kHuberOfNumbers = register_loss_conformance(
    "HuberOfNumbers", {.make = [] { return make_test_loss("huber { delta: 0.25 }"); },
                       .plain = plain(0.25),
                       .change = [](LossExamples& e) { e.labels = e.labels * 9 - 5; }});

TEST(HuberLossTest, PredictsOutputs) {
  const auto loss = make_test_loss("huber {}");
  EXPECT_FALSE(loss->predicts_probabilities());
  EXPECT_FALSE(loss->needs_groups());
  EXPECT_EQ(loss->labels(), LossLabels::kNumbers);
  EXPECT_EQ(loss->predict(at::full({1}, -7))[0].item<float>(), -7);
}

}  // namespace
}  // namespace millrace
