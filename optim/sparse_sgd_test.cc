#include "optim/sparse_sgd.h"

#include "base/status_matchers.h"
#include "optim/row_optimizer_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;

TEST(SparseSgdTest, ThreeStepsByHand) {
  const SparseSgdOptimizer optimizer;
  TestRow row(optimizer, {1, 2});
  row.update(optimizer, 0.5, {2, -1});
  EXPECT_THAT(row.weights, ElementsAre(0, 2.5));  // 1 - 0.5 × 2, 2 + 0.5 × 1
  row.update(optimizer, 0.5, {-1, 0});
  EXPECT_THAT(row.weights, ElementsAre(0.5, 2.5));  // 0 + 0.5
  row.update(optimizer, 0.25, {1, 8}, 0.5);
  EXPECT_THAT(row.weights, ElementsAre(0.375, 1.5));  // 0.5 - 0.25 × 0.5, 2.5 - 0.25 × 4
}

TEST(SparseSgdTest, AgreesWithALoopInDouble) {
  expect_agrees_with_reference(
      SparseSgdOptimizer(), [](std::vector<double>& weights, std::vector<double>& slots,
                               const std::vector<double>& gradient, double rate, int64_t t) {
        for (size_t c = 0; c < weights.size(); ++c) weights[c] -= rate * gradient[c];
      });
}

TEST(SparseSgdTest, Conforms) { expect_conforms(SparseSgdOptimizer()); }

}  // namespace
}  // namespace millrace
