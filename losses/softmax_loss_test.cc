#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "losses/group_losses.h"
#include "losses/loss_conformance.h"
#include "losses/loss_testing.h"

namespace millrace {
namespace {

// Computes log_softmax of each group.
PlainLoss plain(double temperature) {
  return [=](const at::Tensor& outputs, const LossExamples& examples) {
    at::Tensor sum = outputs.sum() * 0;
    std::set<int64_t> groups;
    for (int64_t i = 0; i < examples.group_ids.size(0); ++i) {
      groups.insert(examples.group_ids[i].item<int64_t>());
    }
    for (const int64_t group : groups) {
      const at::Tensor rows = (examples.group_ids == group).nonzero().squeeze(1);
      at::Tensor labels = examples.labels.index_select(0, rows);
      if (examples.weights.defined()) labels = labels * examples.weights.index_select(0, rows);
      sum = sum - (labels * at::log_softmax(outputs.index_select(0, rows) / temperature, 0)).sum();
    }
    return sum;
  };
}

[[maybe_unused]] const bool kSoftmax = register_loss_conformance(
    "Softmax", {.make = [] { return make_test_loss("softmax {}"); }, .plain = plain(1)});

[[maybe_unused]] const bool kSoftmaxOfLowTemperature = register_loss_conformance(
    "SoftmaxOfLowTemperature",
    {.make = [] { return make_test_loss("softmax { temperature: 0.3 }"); }, .plain = plain(0.3)});

[[maybe_unused]] const bool kSoftmaxOfHighTemperature =
    register_loss_conformance("SoftmaxOfHighTemperature",
                              {.make = [] { return make_test_loss("softmax { temperature: 5 }"); },
                               .plain = plain(5),
                               .change = [](LossExamples& e) { e.labels = e.labels * 2.5; }});

TEST(SoftmaxLossTest, TargetsAreGroupsWithALabelAboveZero) {
  LossExamples examples;
  examples.labels = at::tensor({1.0, 0.0, 0.0, 3.0, 2.0}, at::kDouble);
  examples.group_ids = at::tensor({5, 5, 6, 7, 7}, at::kLong);
  EXPECT_EQ(make_test_loss("softmax {}")->count_targets(examples), 2);
}

TEST(SoftmaxLossTest, ByHand) {
  LossExamples examples;
  examples.labels = at::tensor({1.0, 0.0, 1.0}, at::kDouble);
  examples.group_ids = at::tensor({1, 1, 2}, at::kLong);
  const at::Tensor outputs = at::tensor({0.0, 1.0, 4.0}, at::kDouble);
  // A group of one example has nothing to learn.
  EXPECT_NEAR(make_test_loss("softmax {}")->sum(outputs, examples).item<double>(),
              std::log1p(std::exp(1.0)), 1e-12);
}

TEST(SoftmaxLossTest, PredictsOutputs) {
  const auto loss = make_test_loss("softmax { temperature: 2 }");
  EXPECT_FALSE(loss->predicts_probabilities());
  EXPECT_TRUE(loss->needs_groups());
  EXPECT_EQ(loss->labels(), LossLabels::kGrades);
  EXPECT_EQ(loss->predict(at::full({1}, 7))[0].item<float>(), 7);
}

}  // namespace
}  // namespace millrace
