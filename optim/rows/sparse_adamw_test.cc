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

std::unique_ptr<RowOptimizer> make(double beta1, double beta2, double epsilon, double weight_decay,
                                   SparseAdam::StepCount count = SparseAdam::TABLE) {
  SparseAdam config;
  config.set_beta1(beta1);
  config.set_beta2(beta2);
  config.set_epsilon(epsilon);
  config.set_weight_decay(weight_decay);
  config.set_step_count(count);
  absl::StatusOr<std::unique_ptr<RowOptimizer>> optimizer = SparseAdamwOptimizer::create(config);
  EXPECT_OK(optimizer);
  return *std::move(optimizer);
}

TEST(SparseAdamwTest, TwoStepsByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0.5, 0.75, 1, 0.5);
  TestRow row(*optimizer, {1, 2});
  row.update(*optimizer, 0.1, {2, 0});
  // m = 1, v = 1; m̂ = 1 / 0.5, v̂ = 1 / 0.25: 1 - 0.1 × (0.5 × 1 + 2 / (2 + 1)), 2 - 0.1 × 0.5 × 2
  EXPECT_THAT(row.slots, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.88333333f), FloatEq(1.9f)));
  row.update(*optimizer, 0.1, {3, 0});
  // m = 2, v = 3; m̂ = 2 / 0.75, v̂ = 3 / 0.4375: 0.88333333 - 0.1 × (0.44166667 + 2.6666667 /
  // (2.6186147 + 1)), 1.9 - 0.1 × 0.5 × 1.9
  EXPECT_THAT(row.slots, ElementsAre(2, 0, 3, 0));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.76547377f), FloatEq(1.805f)));
}

TEST(SparseAdamwTest, AveragesDoNotSeeTheDecay) {
  TestRow with(*make(0.9, 0.99, 1e-8, 0.5), {3}), without(*make(0.9, 0.99, 1e-8, 0), {3});
  for (int i = 0; i < 5; ++i) {
    with.update(*make(0.9, 0.99, 1e-8, 0.5), 0.1, {1});
    without.update(*make(0.9, 0.99, 1e-8, 0), 0.1, {1});
  }
  EXPECT_EQ(with.slots, without.slots);
  EXPECT_LT(with.weights[0], without.weights[0] - 0.3);
}

TEST(SparseAdamwTest, AgreesWithALoopInDouble) {
  expect_agrees_with_reference(*make(0.9, 0.999, 1e-3, 0.01),
                               [](std::vector<double>& weights, std::vector<double>& slots,
                                  const std::vector<double>& gradient, double rate, int64_t t) {
                                 const size_t dim = weights.size();
                                 for (size_t c = 0; c < dim; ++c) {
                                   double& m = slots[c];
                                   double& v = slots[dim + c];
                                   m = 0.9 * m + 0.1 * gradient[c];
                                   v = 0.999 * v + 0.001 * gradient[c] * gradient[c];
                                   const double corrected = std::sqrt(v / (1 - std::pow(0.999, t)));
                                   weights[c] *= 1 - rate * 0.01;
                                   weights[c] -=
                                       rate * m / (1 - std::pow(0.9, t)) / (corrected + 1e-3);
                                 }
                               });
}

// Expected values of torch.optim.AdamW(lr=0.05, betas=(0.8, 0.95), eps=0.01, weight_decay=0.1) of
// torch 2.13 in float64 on each row separately.
TEST(SparseAdamwTest, EqualToTorch) {
  expect_trains_to(*make(0.8, 0.95, 0.01, 0.1, SparseAdam::ROW),
                   {-0.411605588, 0.115397802, 0.252225621, -0.0298271501,   //
                    0.105987658, -0.0795864642, 0.0759735652, -0.356214296,  //
                    0.03673751, 0.198865181, -0.00354463044, 0.100408828});
}

[[maybe_unused]] const bool kSparseAdamw =
    register_row_optimizer_conformance("SparseAdamw", [] { return make(0.9, 0.999, 1e-8, 0.01); });
[[maybe_unused]] const bool kSparseAdamwOfRowSteps = register_row_optimizer_conformance(
    "SparseAdamwOfRowSteps", [] { return make(0.9, 0.999, 1e-8, 0, SparseAdam::ROW); });

TEST(SparseAdamwTest, RefusesBadNumbers) {
  SparseAdam config;
  config.set_weight_decay(NAN);
  EXPECT_THAT(SparseAdamwOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("adamw: weight_decay")));
  config.set_beta2(1);
  EXPECT_THAT(SparseAdamwOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("adamw: beta2")));
}

}  // namespace
}  // namespace millrace
