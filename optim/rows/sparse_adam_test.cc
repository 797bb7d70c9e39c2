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

std::unique_ptr<RowOptimizer> make(double beta1, double beta2, double epsilon,
                                   double weight_decay = 0,
                                   SparseAdam::StepCount count = SparseAdam::TABLE) {
  SparseAdam config;
  config.set_weight_decay(weight_decay);
  config.set_step_count(count);
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
  // m = 2 - 0.5 × 6 = -1, 2; v = 3 + 0.25 × 13 = 6.25, 4; rate 0.1 × √0.578125 / 0.875 =
  // 0.08689661; 0.8854392 + 0.08689661 × 1 / (2.5 + 1), 2 - 0.08689661 × 2 / (2 + 1)
  EXPECT_THAT(row.slots, ElementsAre(-1, 2, 6.25, 4));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(0.91026680f), FloatEq(1.9420689f)));
}

TEST(SparseAdamTest, NoGradientAndAnEpsilonOfZeroInFloatIsNoUpdate) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0.9, 0.999, 1e-300);
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

TEST(SparseAdamTest, ARowCountsItsOwnSteps) {
  const std::unique_ptr<RowOptimizer> table = make(0.9, 0.99, 1e-300);
  const std::unique_ptr<RowOptimizer> own = make(0.9, 0.99, 1e-300, 0, SparseAdam::ROW);
  TestRow late(*own, {1}), early(*table, {1});
  late.step = 1000;  // of the table
  for (int i = 1; i <= 3; ++i) {
    late.update(*own, 0.1, {2});
    early.update(*table, 0.1, {2});
    EXPECT_EQ(late.slots[2], i);
    EXPECT_EQ(late.weights, early.weights);
  }
}

TEST(SparseAdamTest, StrangeStepCountsDoNoHarm) {
  // Slots that a foreign checkpoint may contain.
  const std::unique_ptr<RowOptimizer> optimizer = make(0.9, 0.99, 1e-8, 0, SparseAdam::ROW);
  for (const float step : {-5.0f, 0x1p24f, 1e30f, NAN, -INFINITY}) {
    TestRow row(*optimizer, {1});
    row.slots[2] = step;
    row.update(*optimizer, 0.1, {2});
    EXPECT_TRUE(std::isfinite(row.weights[0])) << step;
    EXPECT_LT(row.weights[0], 1) << step;
    EXPECT_LE(row.slots[2], 0x1p24f) << step;
  }
}

// Expected values of torch.optim.SparseAdam(lr=0.05, betas=(0.8, 0.95), eps=0.01) of torch 2.13 in
// float64 on the table.
TEST(SparseAdamTest, EqualToTorch) {
  expect_trains_to(*make(0.8, 0.95, 0.01),
                   {-0.418117266, 0.114480654, 0.265278682, -0.0329507431,  //
                    0.131498666, -0.104700039, 0.0827955269, -0.347312762,  //
                    0.0264618015, 0.228094911, -0.0343043733, 0.128935217});
}

// Expected values of the same optimizer on each row separately.
TEST(SparseAdamTest, EqualToTorchWithRowSteps) {
  expect_trains_to(*make(0.8, 0.95, 0.01, 0, SparseAdam::ROW),
                   {-0.418117266, 0.114480654, 0.265278682, -0.0329507431,  //
                    0.11519342, -0.0846866206, 0.0784631515, -0.35965517,   //
                    0.0329035837, 0.203865651, -0.0124030817, 0.104968093});
}

// Expected values of torch.optim.Adam(lr=0.05, betas=(0.8, 0.95), eps=1e-30, weight_decay=0.1) on
// each row separately. The place of so small an epsilon in the formula does not matter.
TEST(SparseAdamTest, EqualToTorchWithWeightDecay) {
  expect_trains_to(*make(0.8, 0.95, 1e-30, 0.1, SparseAdam::ROW),
                   {-0.413246376, 0.117033876, 0.249414565, -0.0292574356,   //
                    0.104577105, -0.0800345126, 0.0260471349, -0.358121451,  //
                    0.0387895557, 0.200775932, -0.0010511737, 0.101112389});
}

[[maybe_unused]] const bool kSparseAdam =
    register_row_optimizer_conformance("SparseAdam", [] { return make(0.9, 0.999, 1e-8); });
[[maybe_unused]] const bool kSparseAdamOfRowSteps = register_row_optimizer_conformance(
    "SparseAdamOfRowSteps", [] { return make(0.9, 0.999, 1e-8, 0.1, SparseAdam::ROW); });

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
  refused(0.5, 0.5, -1e-8, "adam: epsilon");
  refused(0.5, 0.5, 0, "adam: epsilon is 0");
  SparseAdam config;
  config.set_weight_decay(-1);
  EXPECT_THAT(SparseAdamOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("adam: weight_decay")));
}

}  // namespace
}  // namespace millrace
