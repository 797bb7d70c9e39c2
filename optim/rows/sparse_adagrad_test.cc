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
  absl::StatusOr<std::unique_ptr<RowOptimizer>> optimizer = SparseAdagradOptimizer::create(config);
  EXPECT_OK(optimizer);
  return *std::move(optimizer);
}

TEST(SparseAdagradTest, ThreeStepsByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0, 1);
  TestRow row(*optimizer, {1, 2});
  row.update(*optimizer, 0.1, {3, 8});
  // sum 9, 64; 1 - 0.1 × 3 / (3 + 1), 2 - 0.1 × 8 / (8 + 1)
  EXPECT_THAT(row.slots, ElementsAre(9, 64));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.925f), FloatEq(1.9111111f)));
  row.update(*optimizer, 0.1, {4, 15});
  // sum 9 + 16, 64 + 225; 0.925 - 0.1 × 4 / (5 + 1), 1.9111111 - 0.1 × 15 / (17 + 1)
  EXPECT_THAT(row.slots, ElementsAre(25, 289));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.85833333f), FloatEq(1.8277778f)));
  row.update(*optimizer, 0.1, {12, 0});
  // sum 25 + 144; 0.85833333 - 0.1 × 12 / (13 + 1)
  EXPECT_THAT(row.slots, ElementsAre(169, 289));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.77261905f), FloatEq(1.8277778f)));
}

TEST(SparseAdagradTest, BeginsAtTheInitialAccumulator) {
  const std::unique_ptr<RowOptimizer> optimizer = make(16, 1e-300);
  TestRow row(*optimizer, {1});
  row.update(*optimizer, 0.5, {3});
  EXPECT_THAT(row.slots, ElementsAre(25));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.7f)));  // 1 - 0.5 × 3 / 5
}

TEST(SparseAdagradTest, NoGradientAndAnEpsilonOfZeroInFloatIsNoUpdate) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0, 1e-300);
  TestRow row(*optimizer, {1});
  row.update(*optimizer, 0.5, {0});
  EXPECT_THAT(row.weights, ElementsAre(1));
}

TEST(SparseAdagradTest, AgreesWithALoopInDouble) {
  expect_agrees_with_reference(*make(0.1, 1e-10),
                               [](std::vector<double>& weights, std::vector<double>& sum,
                                  const std::vector<double>& gradient, double rate, int64_t t) {
                                 for (size_t c = 0; c < weights.size(); ++c) {
                                   sum[c] += gradient[c] * gradient[c];
                                   weights[c] -= rate * gradient[c] / (std::sqrt(sum[c]) + 1e-10);
                                 }
                               });
}

TEST(SparseAdagradTest, WeightDecayByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0, 1, 0.5);
  TestRow row(*optimizer, {4});
  row.update(*optimizer, 0.5, {1});
  EXPECT_THAT(row.slots, ElementsAre(9));        // (1 + 0.5 × 4)²
  EXPECT_THAT(row.weights, ElementsAre(3.625));  // 4 - 0.5 × 3 / (3 + 1)
}

// Expected values of torch.optim.Adagrad(lr=0.05, initial_accumulator_value=0.1) of torch 2.13 in
// float64 on a sparse gradient of the table.
TEST(SparseAdagradTest, EqualToTorch) {
  expect_trains_to(*make(0.1, 1e-10), {-0.364095167, 0.0621310093, 0.284570331, -0.0734301559,  //
                                       0.156618447, -0.142344142, 0.0958279614, -0.323332864,   //
                                       0.0310086836, 0.220884508, -0.0300663692, 0.123243118});
}

// Expected values of torch.optim.Adagrad(lr=0.05, weight_decay=0.1) on each row separately, since
// torch has no weight decay for sparse gradients.
TEST(SparseAdagradTest, EqualToTorchWithWeightDecay) {
  expect_trains_to(*make(0, 1e-10, 0.1),
                   {-0.364490213, 0.0637483079, 0.264179513, -0.0713076066,  //
                    0.135972776, -0.139726628, 0.0428023122, -0.321831939,   //
                    0.05, 0.218746659, -0.00554584357, 0.12});
}

[[maybe_unused]] const bool kSparseAdagrad =
    register_row_optimizer_conformance("SparseAdagrad", [] { return make(0, 1e-10); });
[[maybe_unused]] const bool kSparseAdagradWithDecay = register_row_optimizer_conformance(
    "SparseAdagradWithDecay", [] { return make(0.5, 1e-3, 0.1); });

TEST(SparseAdagradTest, RefusesBadNumbers) {
  SparseAdagrad config;
  config.set_epsilon(0);
  EXPECT_THAT(SparseAdagradOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("adagrad: epsilon is 0")));
  config.set_epsilon(1e-8);
  config.set_initial_accumulator(INFINITY);
  EXPECT_THAT(SparseAdagradOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("initial_accumulator")));
  config.set_initial_accumulator(0);
  config.set_weight_decay(1e39);
  EXPECT_THAT(SparseAdagradOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("adagrad: weight_decay")));
}

}  // namespace
}  // namespace millrace
