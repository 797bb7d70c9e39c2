#include "optim/sparse_adagrad.h"

#include <cmath>

#include "base/status_matchers.h"
#include "optim/row_optimizer_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

std::unique_ptr<RowOptimizer> make(double initial_accumulator, double epsilon) {
  SparseAdagrad config;
  config.set_initial_accumulator(initial_accumulator);
  config.set_epsilon(epsilon);
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
  const std::unique_ptr<RowOptimizer> optimizer = make(16, 0);
  TestRow row(*optimizer, {1});
  row.update(*optimizer, 0.5, {3});
  EXPECT_THAT(row.slots, ElementsAre(25));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.7f)));  // 1 - 0.5 × 3 / 5
}

TEST(SparseAdagradTest, NoGradientAndNoEpsilonIsNoUpdate) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0, 0);
  TestRow row(*optimizer, {1});
  row.update(*optimizer, 0.5, {0});
  EXPECT_THAT(row.weights, ElementsAre(1));
}

TEST(SparseAdagradTest, AgreesWithALoopInDouble) {
  expect_agrees_with_reference(
      *make(0.1, 1e-10), [](std::vector<double>& weights, std::vector<double>& sum,
                            const std::vector<double>& gradient, double rate, int64_t t) {
        for (size_t c = 0; c < weights.size(); ++c) {
          sum[c] += gradient[c] * gradient[c];
          weights[c] -= rate * gradient[c] / (std::sqrt(sum[c]) + 1e-10);
        }
      });
}

TEST(SparseAdagradTest, Conforms) { expect_conforms(*make(0, 1e-10)); }

TEST(SparseAdagradTest, RefusesBadNumbers) {
  SparseAdagrad config;
  config.set_epsilon(-1);
  EXPECT_THAT(SparseAdagradOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("epsilon")));
  config.set_epsilon(0);
  config.set_initial_accumulator(INFINITY);
  EXPECT_THAT(SparseAdagradOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("initial_accumulator")));
}

}  // namespace
}  // namespace millrace
