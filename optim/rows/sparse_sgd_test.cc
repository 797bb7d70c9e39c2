#include "optim/rows/sparse_sgd.h"

#include "base/status_matchers.h"
#include "optim/rows/row_optimizer_conformance.h"
#include "optim/rows/row_optimizer_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<RowOptimizer> make(double weight_decay) {
  SparseSgd config;
  config.set_weight_decay(weight_decay);
  absl::StatusOr<std::unique_ptr<RowOptimizer>> optimizer = SparseSgdOptimizer::create(config);
  EXPECT_OK(optimizer);
  return *std::move(optimizer);
}

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
  expect_agrees_with_reference(SparseSgdOptimizer(),
                               [](std::vector<double>& weights, std::vector<double>& slots,
                                  const std::vector<double>& gradient, double rate, int64_t t) {
                                 for (size_t c = 0; c < weights.size(); ++c)
                                   weights[c] -= rate * gradient[c];
                               });
}

TEST(SparseSgdTest, WeightDecayByHand) {
  const std::unique_ptr<RowOptimizer> optimizer = make(0.5);
  TestRow row(*optimizer, {4, -2});
  row.update(*optimizer, 0.25, {2, 0}, 0.5);
  // The decay is not scaled: 4 - 0.25 × (0.5 × 2 + 0.5 × 4), -2 - 0.25 × (0.5 × -2)
  EXPECT_THAT(row.weights, ElementsAre(3.25, -1.75));
}

// Expected values of torch.optim.SGD(lr=0.05, weight_decay=0.1) of torch 2.13 in float64 on each
// row separately.
TEST(SparseSgdTest, EqualToTorch) {
  expect_trains_to(*make(0.1), {-0.377619226, 0.0863218298, 0.278673006, -0.072775132,  //
                                0.184889662, -0.122763413, 0.123694988, -0.320086525,   //
                                0.0125, 0.18482, -0.061565, 0.110755});
}

[[maybe_unused]] const bool kSparseSgd = register_row_optimizer_conformance(
    "SparseSgd", [] { return std::make_unique<SparseSgdOptimizer>(); });
[[maybe_unused]] const bool kSparseSgdWithDecay =
    register_row_optimizer_conformance("SparseSgdWithDecay", [] { return make(0.1); });

TEST(SparseSgdTest, RefusesBadNumbers) {
  SparseSgd config;
  config.set_weight_decay(-1);
  EXPECT_THAT(SparseSgdOptimizer::create(config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("sgd: weight_decay")));
}

}  // namespace
}  // namespace millrace
