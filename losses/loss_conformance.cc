#include "losses/loss_conformance.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "losses/loss_testing.h"

namespace millrace {
namespace {

constexpr int64_t kSize = 64;

// The tensors that the check of one property compares.
struct Subject {
  const Loss& loss;
  const PlainLoss& plain;
  const LossExamples& examples;
};

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

SumAndGradient differentiate(const Loss& loss, const at::Tensor& outputs,
                             const LossExamples& examples) {
  return differentiate(
      [&](const at::Tensor& leaf, const LossExamples& same) { return loss.sum(leaf, same); },
      outputs, examples);
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

void check_name(const Subject& s) { EXPECT_FALSE(s.loss.name().empty()); }

void check_formula(const Subject& s) {
  const at::Tensor outputs = loss_test_outputs(7, kSize);
  const SumAndGradient expected = differentiate(s.plain, outputs, s.examples);
  ASSERT_GT(expected.gradient.abs().max().item<double>(), 1e-3) << "the test compares nothing";
  const SumAndGradient result = differentiate(s.loss, outputs, s.examples);
  EXPECT_EQ(result.sum.dim(), 0);
  EXPECT_EQ(result.sum.scalar_type(), at::kDouble);
  expect_near(result.sum, expected.sum, 1e-9, "the sum");
  expect_near(result.gradient, expected.gradient, 1e-9, "the gradient");
}

void check_formula_in_float32(const Subject& s) {
  // The outputs of the reference are rounded too, so that only the computation is compared.
  const at::Tensor rounded = loss_test_outputs(7, kSize).to(at::kFloat);
  const LossExamples plain_examples = as(as(s.examples, at::kFloat), at::kDouble);
  const SumAndGradient expected = differentiate(s.plain, rounded.to(at::kDouble), plain_examples);
  const SumAndGradient result = differentiate(s.loss, rounded, as(s.examples, at::kFloat));
  EXPECT_EQ(result.sum.scalar_type(), at::kFloat);
  expect_near(result.sum, expected.sum, 1e-5, "the sum");
  expect_near(result.gradient, expected.gradient, 1e-5, "the gradient");
}

void check_order(const Subject& s) {
  std::vector<int64_t> rows(kSize);
  for (int64_t i = 0; i < kSize; ++i) rows[static_cast<size_t>(i)] = i * 37 % kSize;
  const at::Tensor order = at::tensor(rows, at::kLong);
  const at::Tensor outputs = loss_test_outputs(7, kSize);
  const LossExamples other = select(s.examples, order);
  expect_near(s.loss.sum(outputs.index_select(0, order), other), s.loss.sum(outputs, s.examples),
              1e-9, "the sum of examples in another order");
  EXPECT_EQ(s.loss.count_targets(other), s.loss.count_targets(s.examples));
}

void check_extremes(const Subject& s) {
  const at::Tensor outputs = (loss_test_outputs(7, kSize).sign() * 1000).to(at::kFloat);
  const SumAndGradient result = differentiate(s.loss, outputs, as(s.examples, at::kFloat));
  EXPECT_TRUE(result.sum.isfinite().item<bool>());
  EXPECT_TRUE(result.gradient.isfinite().all().item<bool>());
}

void check_no_examples(const Subject& s) {
  const LossExamples none = select(s.examples, at::empty({0}, at::kLong));
  const SumAndGradient result = differentiate(s.loss, at::empty({0}, at::kDouble), none);
  EXPECT_EQ(result.sum.item<double>(), 0);
  EXPECT_EQ(result.gradient.numel(), 0);
  EXPECT_EQ(s.loss.count_targets(none), 0);
}

void check_targets(const Subject& s) {
  EXPECT_EQ(s.loss.count_targets(s.examples) == kSize, s.loss.targets_are_examples());
  LossExamples other_weights = s.examples;
  other_weights.weights = at::full({kSize}, 0.5, at::kDouble);
  EXPECT_EQ(s.loss.count_targets(other_weights), s.loss.count_targets(s.examples))
      << "targets follow from labels and groups alone";
}

void check_groups(const Subject& s) {
  if (s.loss.needs_groups()) return;
  LossExamples without = s.examples;
  without.group_ids = at::Tensor();
  const at::Tensor outputs = loss_test_outputs(7, kSize);
  EXPECT_TRUE(at::equal(s.loss.sum(outputs, without), s.loss.sum(outputs, s.examples)));
}

void check_predictions(const Subject& s) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
    const at::Tensor outputs = (loss_test_outputs(7, kSize) * 100).to(type);
    const at::Tensor predictions = s.loss.predict(outputs);
    ASSERT_EQ(predictions.sizes(), outputs.sizes());
    EXPECT_TRUE(predictions.isfinite().all().item<bool>());
    if (!s.loss.predicts_probabilities()) continue;
    EXPECT_GE(predictions.min().item<double>(), 0);
    EXPECT_LE(predictions.max().item<double>(), 1);
  }
}

void check_threads(const Subject& s) {
  const at::Tensor outputs = loss_test_outputs(7, kSize);
  const double expected = s.loss.sum(outputs, s.examples).item<double>();
  std::vector<double> sums(4);
  call_on_threads(sums, [&](auto& sum) { sum = s.loss.sum(outputs, s.examples).item<double>(); });
  EXPECT_EQ(sums, std::vector<double>(4, expected));
}

}  // namespace

std::vector<Property> loss_properties(const LossConformance& conformance) {
  const auto property = [&](const char* name, void (*check)(const Subject&)) {
    return Property{name, [=] {
                      const std::unique_ptr<Loss> loss = conformance.make();
                      for (const bool weighted : {false, true}) {
                        SCOPED_TRACE(weighted ? "with weights" : "without weights");
                        LossExamples examples = loss_test_examples(5, kSize, weighted);
                        if (conformance.change) conformance.change(examples);
                        check({*loss, conformance.plain, examples});
                      }
                    }};
  };
  return {
      property("HasAName", check_name),
      property("EqualsItsFormula", check_formula),
      property("EqualsItsFormulaInFloat32", check_formula_in_float32),
      property("DoesNotDependOnTheOrderOfExamples", check_order),
      property("IsFiniteForExtremeOutputs", check_extremes),
      property("IsZeroWithoutExamples", check_no_examples),
      property("CountsTargetsAsItSays", check_targets),
      property("NeedsNoGroupsUnlessItSaysSo", check_groups),
      property("PredictsForEachOutput", check_predictions),
      property("SumsOnSeveralThreads", check_threads),
  };
}

bool register_loss_conformance(const std::string& suite, const LossConformance& conformance,
                               std::source_location place) {
  return register_properties(suite, loss_properties(conformance), place);
}

}  // namespace millrace
