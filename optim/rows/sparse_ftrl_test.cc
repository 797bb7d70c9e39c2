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

SparseFtrl numbers(double beta, double l1, double l2, double initial_accumulator) {
  SparseFtrl config;
  config.set_beta(beta);
  config.set_l1(l1);
  config.set_l2(l2);
  config.set_initial_accumulator(initial_accumulator);
  return config;
}

std::unique_ptr<RowOptimizer> make(const SparseFtrl& config) {
  absl::StatusOr<std::unique_ptr<RowOptimizer>> optimizer = SparseFtrlOptimizer::create(config);
  EXPECT_OK(optimizer);
  return *std::move(optimizer);
}

TEST(SparseFtrlTest, ThreeStepsByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(numbers(1, 1, 2, 0));
  TestRow row(*optimizer, {0});
  row.update(*optimizer, 0.5, {3});
  // n = 9, z = 3, 1 / η = (1 + 3) / 0.5 = 8: (1 - 3) / (8 + 2)
  EXPECT_THAT(row.slots, ElementsAre(3, 9));
  EXPECT_THAT(row.weights, ElementsAre(-0.2f));
  row.update(*optimizer, 0.5, {4});
  // n = 25, 1 / η = 12: z = 3 + 4 + (12 - 8) × 0.2 = 7.8, (1 - 7.8) / (12 + 2)
  EXPECT_THAT(row.slots, ElementsAre(FloatEq(7.8f), 25));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(-0.48571429f)));
  row.update(*optimizer, 0.5, {-12});
  // n = 169, 1 / η = 28: z = 7.8 - 12 + 16 × 0.48571429 = 3.5714286, (1 - 3.5714286) / 30
  EXPECT_THAT(row.slots, ElementsAre(FloatEq(3.5714286f), 169));
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(-0.085714286f)));
}

TEST(SparseFtrlTest, BeginsAtTheInitialWeights) {
  const std::unique_ptr<RowOptimizer> optimizer = make(numbers(1, 0.5, 2, 0.25));
  TestRow row(*optimizer, {0.7f, -0.3f, 0.0f});
  const std::vector<float> initial = row.weights;
  row.update(*optimizer, 0.1, {0, 0, 0});
  EXPECT_EQ(row.weights, initial);
  // z by the closed form: -0.7 × ((1 + 0.5) / 0.1 + 2) - 0.5, 0.3 × 17 + 0.5
  EXPECT_THAT(row.slots, ElementsAre(FloatEq(-12.4f), FloatEq(5.6f), 0, 0.25, 0.25, 0.25));
}

TEST(SparseFtrlTest, ALearningRateThatChangesMovesNothing) {
  const std::unique_ptr<RowOptimizer> optimizer = make(numbers(1, 0.5, 2, 0));
  TestRow row(*optimizer, {0.7f, -0.3f});
  row.update(*optimizer, 0.1, {1, 2});
  const std::vector<float> before = row.weights;
  row.update(*optimizer, 0.001, {0, 0});
  EXPECT_EQ(row.weights, before);
}

TEST(SparseFtrlTest, L1MakesZerosAndHoldsThem) {
  const std::unique_ptr<RowOptimizer> optimizer = make(numbers(1, 2, 0, 0));
  TestRow row(*optimizer, {0.05f});
  row.update(*optimizer, 0.5, {1});  // 1 / η = 4: z = -0.05 × 4 - 2 + 1 = -1.2
  EXPECT_THAT(row.weights, ElementsAre(0));
  EXPECT_THAT(row.slots, ElementsAre(FloatEq(-1.2f), 1));
  row.update(*optimizer, 0.5, {2});  // z = 0.8
  EXPECT_THAT(row.weights, ElementsAre(0));
  row.update(*optimizer, 0.5, {2});  // z = 2.8, n = 9: (2 - 2.8) / 8
  EXPECT_THAT(row.weights, ElementsAre(FloatEq(-0.1f)));
}

TEST(SparseFtrlTest, CrossesZeroInOneStep) {
  const std::unique_ptr<RowOptimizer> optimizer = make(numbers(0, 0.5, 0, 0));
  TestRow row(*optimizer, {1, -1});
  row.update(*optimizer, 1, {4, -4});  // 1 / η = 4: z = -4 - 0.5 + 4 = -0.5: held at 0
  EXPECT_THAT(row.weights, ElementsAre(0, 0));
  TestRow other(*make(numbers(0, 0.5, 0, 9)), {0.5f, -0.5f});
  other.update(*make(numbers(0, 0.5, 0, 9)), 1, {4, -4});
  // 1 / η = 5: z = -2.5 - 0.5 + 4 = 1: (0.5 - 1) / 5
  EXPECT_THAT(other.weights, ElementsAre(FloatEq(-0.1f), FloatEq(0.1f)));
}

TEST(SparseFtrlTest, NothingHappensWithoutADivisorOrARate) {
  const std::unique_ptr<RowOptimizer> optimizer = make(numbers(0, 0.5, 0, 0));
  TestRow row(*optimizer, {0.5f});
  row.update(*optimizer, 0.5, {0});
  EXPECT_THAT(row.weights, ElementsAre(0.5f));
  row.slots = {3, 4};
  row.update(*optimizer, 0, {1});
  EXPECT_THAT(row.weights, ElementsAre(0.5f));
  EXPECT_THAT(row.slots, ElementsAre(3, 4));
}

// Algorithm 1 of the paper, with z kept from step to step. z begins such that w has the initial
// weights.
ReferenceUpdate algorithm1(const SparseFtrl& config) {
  return [config](std::vector<double>& weights, std::vector<double>& slots,
                  const std::vector<double>& gradient, double alpha, int64_t t) {
    const size_t dim = weights.size();
    for (size_t c = 0; c < dim; ++c) {
      double& w = weights[c];
      double& z = slots[c];
      double& n = slots[dim + c];
      const double g = gradient[c];
      const auto inverse_rate = [&] { return (config.beta() + std::sqrt(n)) / alpha; };
      if (z == 0 && n == config.initial_accumulator()) {
        z = -w * (inverse_rate() + config.l2()) - std::copysign(config.l1(), w);
      }
      const double sigma = (std::sqrt(n + g * g) - std::sqrt(n)) / alpha;
      z += g - sigma * w;
      n += g * g;
      w = std::fabs(z) <= config.l1()
              ? 0
              : (std::copysign(config.l1(), z) - z) / (inverse_rate() + config.l2());
    }
  };
}

TEST(SparseFtrlTest, AgreesWithTheAlgorithmInDouble) {
  for (const SparseFtrl& config : {numbers(1, 0, 0, 0), numbers(1, 0, 0.5, 0.25),
                                   numbers(0.5, 0.25, 0, 0.25), numbers(1, 1, 2, 0)}) {
    SCOPED_TRACE(config.ShortDebugString());
    expect_agrees_with_reference(*make(config), algorithm1(config));
  }
}

[[maybe_unused]] const bool kSparseFtrl =
    register_row_optimizer_conformance("SparseFtrl", [] { return make(SparseFtrl()); });
[[maybe_unused]] const bool kSparseFtrlWithPenalties = register_row_optimizer_conformance(
    "SparseFtrlWithPenalties", [] { return make(numbers(1, 0.5, 0.5, 0.1)); });

TEST(SparseFtrlTest, RefusesBadNumbers) {
  const auto refused = [](const SparseFtrl& config, const char* field) {
    EXPECT_THAT(SparseFtrlOptimizer::create(config),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field)));
  };
  refused(numbers(-1, 0, 0, 0), "ftrl: beta");
  refused(numbers(1, NAN, 0, 0), "ftrl: l1");
  refused(numbers(1, 0, INFINITY, 0), "ftrl: l2");
  refused(numbers(1, 0, 0, -1), "ftrl: initial_accumulator");
}

}  // namespace
}  // namespace millrace
