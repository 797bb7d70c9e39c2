#include "losses/loss_conformance.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// The logistic loss, with a fault that a test can choose.
class FaultyLoss : public Loss {
 public:
  enum class Fault {
    kNone,
    kNoName,
    kOtherFormula,
    kRoundsFloat32,
    kSeesOrder,
    kOverflows,
    kCountsNone,
    kMiscounts,
    kCountsWeights,
    kReadsGroups,
    kPredictsOutputs,
    kHasAState,
  };
  explicit FaultyLoss(Fault fault) : fault_(fault) {}

  absl::string_view name() const override { return fault_ == Fault::kNoName ? "" : "faulty"; }

  at::Tensor sum(const at::Tensor& outputs, const LossExamples& examples) const override {
    at::Tensor losses = at::softplus(outputs) - examples.labels * outputs;
    if (fault_ == Fault::kOtherFormula) losses = losses * 1.001;
    if (fault_ == Fault::kRoundsFloat32 && outputs.scalar_type() == at::kFloat) {
      losses = losses.to(at::kBFloat16).to(at::kFloat);
    }
    if (fault_ == Fault::kSeesOrder) {
      losses = losses * at::linspace(1, 2, outputs.size(0), outputs.options());
    }
    if (fault_ == Fault::kOverflows) {
      losses = (1 + outputs.exp()).log() - examples.labels * outputs;
    }
    if (fault_ == Fault::kReadsGroups) {
      losses = losses + (examples.group_ids.defined() ? 0 : 1);
    }
    if (fault_ == Fault::kHasAState) losses = losses * static_cast<double>(++sums_);
    if (examples.weights.defined()) losses = losses * examples.weights;
    return losses.sum();
  }

  int64_t count_targets(const LossExamples& examples) const override {
    const int64_t size = examples.labels.size(0);
    if (fault_ == Fault::kCountsNone) return std::max<int64_t>(size, 1);
    if (fault_ == Fault::kMiscounts) return size / 2;
    if (fault_ == Fault::kCountsWeights && examples.weights.defined()) {
      return examples.weights.count_nonzero().item<int64_t>();
    }
    return size;
  }

  at::Tensor predict(const at::Tensor& outputs) const override {
    return fault_ == Fault::kPredictsOutputs ? outputs : outputs.sigmoid();
  }
  bool predicts_probabilities() const override { return true; }

 private:
  const Fault fault_;
  mutable std::atomic<int> sums_ = 0;
};

at::Tensor logistic(const at::Tensor& outputs, const LossExamples& examples) {
  at::Tensor losses = (1 + outputs.exp()).log() - examples.labels * outputs;
  if (examples.weights.defined()) losses = losses * examples.weights;
  return losses.sum();
}

std::vector<std::string> failing(FaultyLoss::Fault fault) {
  return failing_properties(loss_properties(
      {.make = [=] { return std::make_unique<FaultyLoss>(fault); }, .plain = logistic}));
}

TEST(LossConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyLoss::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kNoName), ElementsAre("HasAName"));
  EXPECT_THAT(failing(Fault::kOtherFormula), Contains("EqualsItsFormula"));
  EXPECT_THAT(failing(Fault::kRoundsFloat32), ElementsAre("EqualsItsFormulaInFloat32"));
  EXPECT_THAT(failing(Fault::kSeesOrder), Contains("DoesNotDependOnTheOrderOfExamples"));
  EXPECT_THAT(failing(Fault::kOverflows), ElementsAre("IsFiniteForExtremeOutputs"));
  EXPECT_THAT(failing(Fault::kCountsNone), ElementsAre("IsZeroWithoutExamples"));
  EXPECT_THAT(failing(Fault::kMiscounts), ElementsAre("CountsTargetsAsItSays"));
  EXPECT_THAT(failing(Fault::kCountsWeights), ElementsAre("CountsTargetsAsItSays"));
  EXPECT_THAT(failing(Fault::kReadsGroups), ElementsAre("NeedsNoGroupsUnlessItSaysSo"));
  EXPECT_THAT(failing(Fault::kPredictsOutputs), ElementsAre("PredictsForEachOutput"));
  EXPECT_THAT(failing(Fault::kHasAState), Contains("SumsOnSeveralThreads"));
}

}  // namespace
}  // namespace millrace
