#include "losses/loss_testing.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "losses/loss_factory.h"
#include "proto/config.pb.h"

namespace millrace {
namespace {

constexpr int64_t kSize = 64;

// Uniform in [0, 1).
double uniform(uint64_t seed, uint64_t stream, int64_t i) {
  return uniform24(philox(seed, stream, static_cast<uint64_t>(i))[0]);
}

struct SumAndGradient {
  at::Tensor sum;
  at::Tensor gradient;
};

SumAndGradient differentiate(const PlainLoss& loss, const at::Tensor& outputs,
                             const LossExamples& examples) {
  const at::Tensor leaf = outputs.detach().clone().requires_grad_();
  at::Tensor sum = loss(leaf, examples);
  sum.backward();
  return {sum.detach(), leaf.grad()};
}

LossExamples select(const LossExamples& examples, const at::Tensor& rows) {
  LossExamples selected = examples;
  selected.labels = examples.labels.index_select(0, rows);
  if (examples.weights.defined()) selected.weights = examples.weights.index_select(0, rows);
  selected.group_ids = examples.group_ids.index_select(0, rows);
  return selected;
}

LossExamples as(const LossExamples& examples, at::ScalarType type) {
  LossExamples converted = examples;
  converted.labels = examples.labels.to(type);
  if (examples.weights.defined()) converted.weights = examples.weights.to(type);
  return converted;
}

// |a - b| <= tolerance * (1 + |b|), everywhere.
void expect_near(const at::Tensor& a, const at::Tensor& b, double tolerance, const char* what) {
  ASSERT_EQ(a.sizes(), b.sizes()) << what;
  EXPECT_TRUE(at::allclose(a.to(at::kDouble), b, tolerance, tolerance))
      << what << " differs by " << (a.to(at::kDouble) - b).abs().max().item<double>();
}

void test_formula(const PlainLoss& loss, const PlainLoss& plain, const LossExamples& examples) {
  const at::Tensor outputs = loss_test_outputs(7, kSize);
  const SumAndGradient expected = differentiate(plain, outputs, examples);
  ASSERT_GT(expected.gradient.abs().max().item<double>(), 1e-3) << "the test compares nothing";
  const SumAndGradient result = differentiate(loss, outputs, examples);
  EXPECT_EQ(result.sum.dim(), 0);
  EXPECT_EQ(result.sum.scalar_type(), at::kDouble);
  expect_near(result.sum, expected.sum, 1e-9, "the sum in float64");
  expect_near(result.gradient, expected.gradient, 1e-9, "the gradient in float64");

  // The outputs of the reference are rounded too: what is compared is the computation.
  const at::Tensor rounded = outputs.to(at::kFloat);
  const LossExamples plain_examples = as(as(examples, at::kFloat), at::kDouble);
  const SumAndGradient wanted = differentiate(plain, rounded.to(at::kDouble), plain_examples);
  const SumAndGradient single = differentiate(loss, rounded, as(examples, at::kFloat));
  EXPECT_EQ(single.sum.scalar_type(), at::kFloat);
  expect_near(single.sum, wanted.sum, 1e-5, "the sum in float32");
  expect_near(single.gradient, wanted.gradient, 1e-5, "the gradient in float32");
}

void test_order(const PlainLoss& plain, const Loss& loss, const LossExamples& examples) {
  std::vector<int64_t> rows(kSize);
  for (int64_t i = 0; i < kSize; ++i) rows[static_cast<size_t>(i)] = i * 37 % kSize;
  const at::Tensor order = at::tensor(rows, at::kLong);
  const at::Tensor outputs = loss_test_outputs(7, kSize);
  const LossExamples other = select(examples, order);
  expect_near(loss.sum(outputs.index_select(0, order), other), plain(outputs, examples), 1e-9,
              "the sum of examples in another order");
  EXPECT_EQ(loss.count_targets(other), loss.count_targets(examples));
}

void test_extremes(const PlainLoss& loss, const LossExamples& examples) {
  const at::Tensor outputs = (loss_test_outputs(7, kSize).sign() * 1000).to(at::kFloat);
  const SumAndGradient result = differentiate(loss, outputs, as(examples, at::kFloat));
  EXPECT_TRUE(result.sum.isfinite().item<bool>());
  EXPECT_TRUE(result.gradient.isfinite().all().item<bool>());
}

void test_no_examples(const PlainLoss& sum, const Loss& loss, const LossExamples& examples) {
  const LossExamples none = select(examples, at::empty({0}, at::kLong));
  const SumAndGradient result = differentiate(sum, at::empty({0}, at::kDouble), none);
  EXPECT_EQ(result.sum.item<double>(), 0);
  EXPECT_EQ(result.gradient.numel(), 0);
  EXPECT_EQ(loss.count_targets(none), 0);
}

}  // namespace

std::unique_ptr<Loss> make_test_loss(const std::string& task) {
  TaskConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(task, &config)) << task;
  absl::StatusOr<std::unique_ptr<Loss>> loss = create_loss(config);
  EXPECT_OK(loss);
  return *std::move(loss);
}

LossExamples loss_test_examples(uint64_t seed, int64_t size, bool weighted) {
  std::vector<double> labels, weights;
  std::vector<int64_t> groups;
  for (int64_t i = 0; i < size; ++i) {
    labels.push_back(uniform(seed, 0, i) < 0.4 ? 1 : 0);
    weights.push_back(i == 3 ? 0 : 2 * uniform(seed, 1, i));
    groups.push_back(static_cast<int64_t>(uniform(seed, 2, i) * static_cast<double>(size) / 5));
  }
  LossExamples examples;
  examples.labels = at::tensor(labels, at::kDouble);
  if (weighted) examples.weights = at::tensor(weights, at::kDouble);
  examples.group_ids = at::tensor(groups, at::kLong);
  return examples;
}

at::Tensor loss_test_outputs(uint64_t seed, int64_t size) {
  std::vector<double> outputs;
  for (int64_t i = 0; i < size; ++i) outputs.push_back(16 * uniform(seed, 3, i) - 8);
  return at::tensor(outputs, at::kDouble);
}

void test_loss_conformance(const Loss& loss, const PlainLoss& plain,
                           const std::function<void(LossExamples&)>& change) {
  const PlainLoss sum = [&](const at::Tensor& outputs, const LossExamples& examples) {
    return loss.sum(outputs, examples);
  };
  for (const bool weighted : {false, true}) {
    SCOPED_TRACE(weighted ? "with weights" : "without weights");
    LossExamples examples = loss_test_examples(5, kSize, weighted);
    if (change) change(examples);
    test_formula(sum, plain, examples);
    test_order(plain, loss, examples);
    test_extremes(sum, examples);
    test_no_examples(sum, loss, examples);
    EXPECT_EQ(loss.count_targets(examples) == kSize, loss.targets_are_examples());
  }
}

}  // namespace millrace
