#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <memory>

#include "losses/group_losses.h"
#include "losses/loss_conformance.h"
#include "losses/loss_testing.h"

namespace millrace {
namespace {

// Calls f(i, j) for each pair of one group in which i has the higher label.
template <typename F>
void for_each_pair(const LossExamples& examples, const F& f) {
  for (int64_t i = 0; i < examples.labels.size(0); ++i) {
    for (int64_t j = 0; j < examples.labels.size(0); ++j) {
      const bool together =
          examples.group_ids[i].item<int64_t>() == examples.group_ids[j].item<int64_t>();
      if (together && examples.labels[i].item<double>() > examples.labels[j].item<double>()) {
        f(i, j);
      }
    }
  }
}

at::Tensor plain(const at::Tensor& outputs, const LossExamples& examples) {
  at::Tensor sum = outputs.sum() * 0;
  for_each_pair(examples, [&](int64_t i, int64_t j) {
    at::Tensor loss = (1 + (outputs[j] - outputs[i]).exp()).log();
    if (examples.weights.defined()) loss = loss * examples.weights[i] * examples.weights[j];
    sum = sum + loss;
  });
  return sum;
}

// Labels 0 to 3.
void grade(LossExamples& examples) {
  examples.labels =
      examples.labels * 2 +
      examples.group_ids.bitwise_xor(at::arange(examples.labels.size(0), at::kLong)).remainder(2);
}

[[maybe_unused]] const bool kPairwise = register_loss_conformance(
    "Pairwise", {.make = [] { return make_test_loss("pairwise {}"); }, .plain = plain});

[[maybe_unused]] const bool kPairwiseOfGrades = register_loss_conformance(
    "PairwiseOfGrades",
    {.make = [] { return make_test_loss("pairwise {}"); }, .plain = plain, .change = grade});

// The pairs of the examples of the suite make several blocks.
[[maybe_unused]] const bool kPairwiseInBlocks = register_loss_conformance(
    "PairwiseInBlocks",
    {.make = [] { return std::make_unique<PairwiseLoss>(/*pairs_at_once=*/7); }, .plain = plain});

TEST(PairwiseLossTest, TargetsArePairs) {
  LossExamples examples = loss_test_examples(9, 100, /*weighted=*/true);
  for (int graded = 0; graded < 2; ++graded) {
    int64_t pairs = 0;
    for_each_pair(examples, [&](int64_t, int64_t) { ++pairs; });
    EXPECT_GT(pairs, 50);
    EXPECT_EQ(make_test_loss("pairwise {}")->count_targets(examples), pairs);
    grade(examples);
  }
}

TEST(PairwiseLossTest, GroupsWithoutTwoLabelsCountNothing) {
  LossExamples examples;
  examples.labels = at::tensor({1.0, 1.0, 0.0}, at::kDouble);
  examples.group_ids = at::tensor({5, 5, -5}, at::kLong);
  const auto loss = make_test_loss("pairwise {}");
  EXPECT_EQ(loss->count_targets(examples), 0);
  EXPECT_EQ(loss->sum(at::tensor({1.0, 2.0, 3.0}, at::kDouble), examples).item<double>(), 0);
}

TEST(PairwiseLossTest, PredictsOutputs) {
  const auto loss = make_test_loss("pairwise {}");
  EXPECT_FALSE(loss->predicts_probabilities());
  EXPECT_TRUE(loss->needs_groups());
  EXPECT_EQ(loss->labels(), LossLabels::kGrades);
  EXPECT_EQ(loss->predict(at::full({1}, 7))[0].item<float>(), 7);
}

}  // namespace
}  // namespace millrace
