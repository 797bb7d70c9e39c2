#include "optim/rows/row_optimizer_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// SGD that counts the updates of a row, with a fault that a test can choose.
class FaultyOptimizer : public RowOptimizer {
 public:
  enum class Fault {
    kNone,
    kNoName,
    kSlotTwice,
    kSlotsChange,
    kSeesOtherRows,
    kIgnoresScale,
    kDriftsWithoutRate,
    kDividesByGradient,
    kSeesInstructionSet,
  };
  explicit FaultyOptimizer(Fault fault) : fault_(fault) {}

  absl::string_view name() const override { return fault_ == Fault::kNoName ? "" : "faulty"; }
  std::vector<SlotSpec> slots(int64_t) const override {
    std::vector<SlotSpec> slots = {{"count", 1, 0}};
    if (fault_ == Fault::kSlotTwice) slots.push_back(slots[0]);
    if (fault_ == Fault::kSlotsChange) slots[0].initial = static_cast<float>(++calls_);
    return slots;
  }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override {
    double rate = context.learning_rate;
    if (fault_ != Fault::kIgnoresScale) rate *= context.gradient_scale;
    if (fault_ == Fault::kSeesOtherRows) rate /= static_cast<double>(rows.size());
    if (fault_ == Fault::kSeesInstructionSet && context.instruction_set == best_instruction_set()) {
      rate /= 2;
    }
    for (const RowUpdate& row : rows) {
      row.slots[0] += 1;
      for (int64_t c = 0; c < dim; ++c) {
        double change = rate * row.gradient[c];
        if (fault_ == Fault::kDriftsWithoutRate) change += 0.001;
        if (fault_ == Fault::kDividesByGradient) change = change / row.gradient[c];
        row.weights[c] = static_cast<float>(row.weights[c] - change);
      }
    }
  }

 private:
  const Fault fault_;
  mutable int calls_ = 0;
};

std::vector<std::string> failing(FaultyOptimizer::Fault fault) {
  return failing_properties(
      row_optimizer_properties([=] { return std::make_unique<FaultyOptimizer>(fault); }));
}

TEST(RowOptimizerConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyOptimizer::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kNoName), ElementsAre("HasAName"));
  EXPECT_THAT(failing(Fault::kSlotTwice), ElementsAre("KeepsSlotNamesApart"));
  EXPECT_THAT(failing(Fault::kSlotsChange), testing::Contains("HasTheSameSlotsAtEveryCall"));
  EXPECT_THAT(failing(Fault::kSeesOtherRows), ElementsAre("DoesNotDependOnCuts"));
  EXPECT_THAT(failing(Fault::kIgnoresScale), ElementsAre("ScaleActsLikeAScaledGradient"));
  EXPECT_THAT(failing(Fault::kDriftsWithoutRate), ElementsAre("RateZeroChangesNoWeight"));
  EXPECT_THAT(failing(Fault::kDividesByGradient), testing::Contains("StaysFinite"));
  if (best_instruction_set() != InstructionSet::kBaseline) {
    EXPECT_THAT(failing(Fault::kSeesInstructionSet),
                ElementsAre("DoesNotDependOnTheInstructionSet"));
  }
}

// Counts the updates of all threads in one variable, so that results depend on other calls and
// threads.
class SharingOptimizer : public RowOptimizer {
 public:
  absl::string_view name() const override { return "sharing"; }
  std::vector<SlotSpec> slots(int64_t) const override { return {}; }
  void update(const UpdateContext& context, int64_t dim,
              absl::Span<const RowUpdate> rows) const override {
    ++updates_;
    for (const RowUpdate& row : rows) row.weights[0] += static_cast<float>(updates_);
  }

 private:
  mutable std::atomic<int> updates_ = 0;
};

TEST(RowOptimizerConformanceTest, AStateOfItsOwnFails) {
  EXPECT_THAT(failing_properties(
                  row_optimizer_properties([] { return std::make_unique<SharingOptimizer>(); })),
              testing::IsSupersetOf({"DoesNotDependOnCuts", "UpdatesOnSeveralThreads"}));
}

}  // namespace
}  // namespace millrace
