#include "tests/conformance/hook_conformance.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

// Counts steps, and does one thing wrong if told to.
class Counting : public Hook {
 public:
  enum class Fault {
    kNone,
    kNoName,
    kEndFails,
    kForgetsState,
    kNeedsState,
    kHalfLoads,
    kStops,
    kAsksAlone
  };
  explicit Counting(Fault fault) : fault_(fault) {}

  absl::string_view name() const override { return fault_ == Fault::kNoName ? "" : "counting"; }
  absl::Status after_step(HookContext& context, const StepResult&) override {
    if (context.phase() == Phase::kTrain) ++steps_;
    if (fault_ == Fault::kStops) context.requests().stop("early");
    if (fault_ == Fault::kAsksAlone && context.rank() == 1) context.requests().evaluate();
    return absl::OkStatus();
  }
  absl::Status end(HookContext&, const absl::Status& outcome) override {
    return fault_ == Fault::kEndFails ? outcome : absl::OkStatus();
  }
  absl::Status save_state(HookState& state) const override {
    state.bytes = absl::StrCat(fault_ == Fault::kForgetsState ? 0 : steps_);
    if (fault_ == Fault::kForgetsState) state.bytes = absl::StrCat(++saves_);
    return absl::OkStatus();
  }
  absl::Status load_state(absl::Span<const HookState> per_rank) override {
    if (per_rank.empty() && fault_ == Fault::kNeedsState) return absl::NotFoundError("no state");
    int64_t steps = 0;
    for (const HookState& state : per_rank) {
      if (!absl::SimpleAtoi(state.bytes, &steps)) return absl::InvalidArgumentError("damaged");
      if (fault_ == Fault::kHalfLoads) steps_ = steps + 1;
    }
    steps_ = steps;
    return absl::OkStatus();
  }

 private:
  const Fault fault_;
  int64_t steps_ = 0;
  mutable int64_t saves_ = 0;
};

HookConformance counting(Counting::Fault fault) {
  return {.make = [fault] { return std::make_unique<Counting>(fault); }};
}

// Whether the suite finds anything wrong.
bool fails(HookConformance conformance) {
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    check_hook(conformance);
  }
  return results.size() > 0;
}

TEST(HookConformanceTest, PassesASoundHook) { check_hook(counting(Counting::Fault::kNone)); }

TEST(HookConformanceTest, FindsEachFault) {
  EXPECT_TRUE(fails(counting(Counting::Fault::kNoName)));
  EXPECT_TRUE(fails(counting(Counting::Fault::kEndFails)));
  EXPECT_TRUE(fails(counting(Counting::Fault::kForgetsState)));
  EXPECT_TRUE(fails(counting(Counting::Fault::kNeedsState)));
  EXPECT_TRUE(fails(counting(Counting::Fault::kHalfLoads)));
  EXPECT_TRUE(fails(counting(Counting::Fault::kAsksAlone)));
}

TEST(HookConformanceTest, AHookThatChangesTheResultMustSaySo) {
  HookConformance conformance = counting(Counting::Fault::kStops);
  EXPECT_TRUE(fails(conformance));
  conformance.changes_result = true;
  check_hook(conformance);
}

}  // namespace
}  // namespace millrace
