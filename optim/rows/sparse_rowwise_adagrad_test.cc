#include <cmath>

#include "base/status_matchers.h"
#include "optim/rows/adaptive_optimizers.h"
#include "optim/rows/row_optimizer_conformance.h"
#include "optim/rows/row_optimizer_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

std::unique_ptr<RowOptimizer> make(double initial_accumulator, double epsilon,
                                   double weight_decay = 0) {
  SparseAdagrad config;
  config.set_initial_accumulator(initial_accumulator);
  config.set_epsilon(epsilon);
  config.set_weight_decay(weight_decay);
  absl::StatusOr<std::unique_ptr<RowOptimizer>> optimizer =
      SparseRowwiseAdagradOptimizer::create(config);
  EXPECT_OK(optimizer);
  return *std::move(optimizer);
}

TEST(SparseRowwiseAdagradTest, ThreeStepsByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0, 1);
  TestRow row(*optimizer, {1, 2});
  row.update(*optimizer, 0.1, {1, 7});
  // sum (1 + 49) / 2 = 25; multiplier 0.1 / (5 + 1); 1 - 1 / 60, 2 - 7 / 60
  EXPECT_THAT(row.slots, ElementsAre(25));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.98333333f), FloatEq(1.8833333f)));
  row.update(*optimizer, 0.1, {12, 12});
  // sum 25 + 144 = 169; multiplier 0.1 / (13 + 1); both less 12 / 140
  EXPECT_THAT(row.slots, ElementsAre(169));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.89761905f), FloatEq(1.7976190f)));
  row.update(*optimizer, 0.1, {20, -12});
  // sum 169 + (400 + 144) / 2 = 441; multiplier 0.1 / (21 + 1); less 20 / 220, plus 12 / 220
  EXPECT_THAT(row.slots, ElementsAre(441));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.80670996f), FloatEq(1.8521645f)));
}

TEST(SparseRowwiseAdagradTest, BeginsAtTheInitialAccumulator) {
  const std::unique_ptr<RowOptimizer> optimizer = make(16, 1e-300);
  TestRow row(*optimizer, {1});
  row.update(*optimizer, 0.5, {3});
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.7f)));  // 1 - 0.5 × 3 / √(16 + 9)
}

TEST(SparseRowwiseAdagradTest, NoGradientAndAnEpsilonOfZeroInFloatIsNoUpdate) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0, 1e-300);
  TestRow row(*optimizer, {1, 2});
  row.update(*optimizer, 0.5, {0, 0});
  EXPECT_THAT(row.weights, ElementsAre(1, 2));
}

TEST(SparseRowwiseAdagradTest, AgreesWithALoopInDouble) {
  expect_agrees_with_reference(*make(0.1, 1e-10),
                               [](std::vector<double>& weights, std::vector<double>& sum,
                                  const std::vector<double>& gradient, double rate, int64_t t) {
                                 double squares = 0;
                                 for (const double g : gradient) squares += g * g;
                                 sum[0] += squares / static_cast<double>(gradient.size());
                                 for (size_t c = 0; c < weights.size(); ++c) {
                                   weights[c] -= rate * gradient[c] / (std::sqrt(sum[0]) + 1e-10);
                                 }
                               });
}

TEST(SparseRowwiseAdagradTest, WeightDecayByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0, 1, 0.5);
  TestRow row(*optimizer, {4, -2});
  row.update(*optimizer, 0.5, {-1, 8});
  EXPECT_THAT(row.slots, ElementsAre(25));  // ((-1 + 0.5 × 4)² + (8 - 0.5 × 2)²) / 2
  // 4 - 0.5 / (5 + 1) × 1, -2 - 0.5 / 6 × 7
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(3.9166667f), FloatEq(-2.5833333f)));
}

TEST(SparseRowwiseAdagradTest, WithDecayAgreesWithALoopInDouble) {
  expect_agrees_with_reference(*make(0.1, 1e-10, 0.02),
                               [](std::vector<double>& weights, std::vector<double>& sum,
                                  const std::vector<double>& gradient, double rate, int64_t t) {
                                 std::vector<double> g = gradient;
                                 double squares = 0;
                                 for (size_t c = 0; c < g.size(); ++c) {
                                   g[c] += 0.02 * weights[c];
                                   squares += g[c] * g[c];
                                 }
                                 sum[0] += squares / static_cast<double>(g.size());
                                 for (size_t c = 0; c < g.size(); ++c) {
                                   weights[c] -= rate * g[c] / (std::sqrt(sum[0]) + 1e-10);
                                 }
                               });
}

[[maybe_unused]] const bool kSparseRowwiseAdagrad =
    register_row_optimizer_conformance("SparseRowwiseAdagrad", [] { return make(0, 1e-10); });
[[maybe_unused]] const bool kSparseRowwiseAdagradWithDecay = register_row_optimizer_conformance(
    "SparseRowwiseAdagradWithDecay", [] { return make(0, 1e-3, 0.1); });

TEST(SparseRowwiseAdagradTest, RefusesBadNumbers) {
  SparseAdagrad config;
  config.set_epsilon(NAN);
  EXPECT_THAT(SparseRowwiseAdagradOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("epsilon")));
  config.set_epsilon(0);
  EXPECT_THAT(
      SparseRowwiseAdagradOptimizer::create(config),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rowwise_adagrad: epsilon is 0")));
  config.set_epsilon(1e-8);
  config.set_initial_accumulator(-1);
  EXPECT_THAT(SparseRowwiseAdagradOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("initial_accumulator")));
  config.set_initial_accumulator(0);
  config.set_weight_decay(-1);
  EXPECT_THAT(
      SparseRowwiseAdagradOptimizer::create(config),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rowwise_adagrad: weight_decay")));
}

}  // namespace
}  // namespace millrace
