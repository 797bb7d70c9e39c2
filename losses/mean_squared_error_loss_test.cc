#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "losses/example_losses.h"
#include "losses/loss_conformance.h"
#include "losses/loss_testing.h"

namespace millrace {
namespace {

at::Tensor plain(const at::Tensor& outputs, const LossExamples& examples) {
  at::Tensor losses = at::mse_loss(outputs, examples.labels, at::Reduction::None);
  if (examples.weights.defined()) losses = losses * examples.weights;
  return losses.sum();
}

[[maybe_unused]] const bool kMeanSquaredError = register_loss_conformance(
    "MeanSquaredError",
    {.make = [] { return make_test_loss("mean_squared_error {}"); }, .plain = plain});

[[maybe_unused]] const bool kMeanSquaredErrorOfNumbers = register_loss_conformance(
    "MeanSquaredErrorOfNumbers", {.make = [] { return make_test_loss("mean_squared_error {}"); },
                                  .plain = plain,
                                  .change = [](LossExamples& e) { e.labels = e.labels * 9 - 5; }});

TEST(MeanSquaredErrorLossTest, PredictsOutputs) {
  const auto loss = make_test_loss("mean_squared_error {}");
  EXPECT_FALSE(loss->predicts_probabilities());
  EXPECT_FALSE(loss->needs_groups());
  EXPECT_EQ(loss->labels(), LossLabels::kNumbers);
  EXPECT_EQ(loss->predict(at::full({1}, -7))[0].item<float>(), -7);
}

}  // namespace
}  // namespace millrace
