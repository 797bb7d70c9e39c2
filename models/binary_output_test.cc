#include "models/binary_output.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

namespace millrace {
namespace {

Batch labelled(std::vector<float> labels) {
  Batch batch;
  batch.size = static_cast<int64_t>(labels.size());
  batch.labels = at::tensor(labels, at::kFloat).unsqueeze(1);
  return batch;
}

TEST(BinaryOutputTest, ByHand) {
  Batch batch = labelled({1, 0});
  const at::Tensor logits = at::tensor({0.0f, 2.0f}).requires_grad_();
  const double a = std::log(2.0), b = std::log1p(std::exp(2.0));
  ModelOutput output = binary_output(logits, batch);
  EXPECT_NEAR(output.loss.item<double>(), a + b, 1e-6);
  EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({2, 1}));
  EXPECT_FLOAT_EQ(output.predictions[0][0].item<float>(), 0.5f);
  EXPECT_FALSE(output.predictions.requires_grad());

  batch.weights = at::tensor({3.0f, 0.5f});
  output = binary_output(logits, batch);
  EXPECT_NEAR(output.loss.item<double>(), 3 * a + 0.5 * b, 1e-6);
  // d loss / d logit = weight * (sigmoid - label).
  output.loss.backward();
  EXPECT_FLOAT_EQ(logits.grad()[0].item<float>(), -1.5f);
  EXPECT_NEAR(logits.grad()[1].item<double>(), 0.5 / (1 + std::exp(-2.0)), 1e-6);
}

TEST(BinaryOutputTest, LargeLogitsAreFinite) {
  const ModelOutput output = binary_output(at::tensor({1000.0f, -1000.0f}), labelled({0, 1}));
  EXPECT_FLOAT_EQ(output.loss.item<float>(), 2000.0f);
}

TEST(BinaryOutputTest, EmptyBatch) {
  const ModelOutput output = binary_output(at::empty({0}), labelled({}));
  EXPECT_EQ(output.loss.item<float>(), 0);
  EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({0, 1}));
}

}  // namespace
}  // namespace millrace
