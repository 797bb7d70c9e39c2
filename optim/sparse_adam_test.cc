#include "optim/sparse_adam.h"

#include <cmath>

#include "base/status_matchers.h"
#include "optim/row_optimizer_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

std::unique_ptr<RowOptimizer> make(double beta1, double beta2, double epsilon) {
  SparseAdam config;
  config.set_beta1(beta1);
  config.set_beta2(beta2);
  config.set_epsilon(epsilon);
  absl::StatusOr<std::unique_ptr<RowOptimizer>> optimizer = SparseAdamOptimizer::create(config);
  EXPECT_OK(optimizer);
  return *std::move(optimizer);
}

TEST(SparseAdamTest, ThreeStepsByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0.5, 0.75, 1);
  TestRow row(*optimizer, {1, 2});
  row.update(*optimizer, 0.1, {2, 0});
  // m = 0.5 × 2 = 1, v = 0.25 × 4 = 1; rate 0.1 × √0.25 / 0.5 = 0.1; 1 - 0.1 × 1 / (1 + 1)
  EXPECT_THAT(row.slots, ElementsAre(1, 0, 1, 0));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.95f), 2));
  row.update(*optimizer, 0.1, {3, 0});
  // m = 1 + 0.5 × 2 = 2, v = 1 + 0.25 × 8 = 3; rate 0.1 × √0.4375 / 0.75 = 0.08819171;
  // 0.95 - 0.08819171 × 2 / (1.7320508 + 1)
  EXPECT_THAT(row.slots, ElementsAre(2, 0, 3, 0));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.88543920f), 2));
  row.update(*optimizer, 0.1, {-4, 4});
  // m = 2 - 0.5 × 6 = -1, 2; v = 3 + 0.25 × 13 = 6.25, 4; rate 0.1 × √0.578125 / 0.875 = 0.08689661;
  // 0.8854392 + 0.08689661 × 1 / (2.5 + 1), 2 - 0.08689661 × 2 / (2 + 1)
  EXPECT_THAT(row.slots, ElementsAre(-1, 2, 6.25, 4));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.91026680f), FloatEq(1.9420689f)));
}

TEST(SparseAdamTest, NoGradientAndNoEpsilonIsNoUpdate) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0.9, 0.999, 0);
  TestRow row(*optimizer, {1});
  row.update(*optimizer, 0.5, {0});
  EXPECT_THAT(row.weights, ElementsAre(1));
}

TEST(SparseAdamTest, AgreesWithALoopInDouble) {
  expect_agrees_with_reference(
      *make(0.9, 0.999, 1e-8), [](std::vector<double>& weights, std::vector<double>& slots,
                                  const std::vector<double>& gradient, double rate, int64_t t) {
        const size_t dim = weights.size();
        const double size = rate * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
        for (size_t c = 0; c < dim; ++c) {
          double& m = slots[c];
          double& v = slots[dim + c];
          m = 0.9 * m + 0.1 * gradient[c];
          v = 0.999 * v + 0.001 * gradient[c] * gradient[c];
          weights[c] -= size * m / (std::sqrt(v) + 1e-8);
        }
      });
}

TEST(SparseAdamTest, Conforms) { expect_conforms(*make(0.9, 0.999, 1e-8)); }

TEST(SparseAdamTest, RefusesBadNumbers) {
  auto refused = [](double beta1, double beta2, double epsilon, const char* field) {
    SparseAdam config;
    config.set_beta1(beta1);
    config.set_beta2(beta2);
    config.set_epsilon(epsilon);
    EXPECT_THAT(SparseAdamOptimizer::create(config),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field)));
  };
  refused(1, 0.5, 0, "beta1");
  refused(-0.1, 0.5, 0, "beta1");
  refused(0.5, NAN, 0, "beta2");
  refused(0.5, 0.5, -1e-8, "epsilon");
}

}  // namespace
}  // namespace millrace
