#include "losses/huber_loss.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

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

TEST(HuberLossTest, Conformance) {
  test_loss_conformance(*make_test_loss("huber {}"), plain(1));
  test_loss_conformance(*make_test_loss("huber { delta: 3.5 }"), plain(3.5));
  test_loss_conformance(*make_test_loss("huber { delta: 0.25 }"), plain(0.25),
                        [](LossExamples& examples) { examples.labels = examples.labels * 9 - 5; });
}

TEST(HuberLossTest, PredictsOutputs) {
  const auto loss = make_test_loss("huber {}");
  EXPECT_FALSE(loss->predicts_probabilities());
  EXPECT_FALSE(loss->needs_groups());
  EXPECT_EQ(loss->labels(), LossLabels::kNumbers);
  EXPECT_EQ(loss->predict(at::full({1}, -7))[0].item<float>(), -7);
}

}  // namespace
}  // namespace millrace
