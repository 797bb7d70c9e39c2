#include "tests/conformance/hook_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// Counts steps, with a fault chosen by a test.
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
    kAsksAlone,
    kNeedsEnd,
    kEndFailsAfterARefusal,
  };
  explicit Counting(Fault fault) : fault_(fault) {}

  absl::string_view name() const override { return fault_ == Fault::kNoName ? "" : "counting"; }
  absl::Status start(HookContext&) override {
    if (fault_ != Fault::kNeedsEnd) return absl::OkStatus();
    return std::exchange(started, true) ? absl::InternalError("started twice") : absl::OkStatus();
  }
  absl::Status after_step(HookContext& context, const StepResult& result) override {
    if (context.phase() == Phase::kTrain) {
      ++steps_;
      refused_ |= !result.applied;
    }
    if (fault_ == Fault::kStops) context.requests().stop("early");
    if (fault_ == Fault::kAsksAlone && context.rank() == 1) context.requests().evaluate();
    return absl::OkStatus();
  }
  absl::Status end(HookContext&, const absl::Status& outcome) override {
    if (fault_ == Fault::kNeedsEnd) started = false;
    if (fault_ == Fault::kEndFailsAfterARefusal && refused_) return absl::InternalError("refused");
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
  static inline bool started = false;  // for the fault kNeedsEnd

  const Fault fault_;
  int64_t steps_ = 0;
  bool refused_ = false;
  mutable int64_t saves_ = 0;
};

HookConformance counting(Counting::Fault fault) {
  return {.make = [fault] { return std::make_unique<Counting>(fault); }};
}

std::vector<std::string> failing(const HookConformance& conformance) {
  return failing_properties(hook_properties(conformance));
}

[[maybe_unused]] const bool kSound =
    register_hook_conformance("SoundHook", counting(Counting::Fault::kNone));

TEST(HookConformanceTest, EachFaultFailsItsProperty) {
  using Fault = Counting::Fault;
  EXPECT_THAT(failing(counting(Fault::kNone)), IsEmpty());
  EXPECT_THAT(failing(counting(Fault::kNoName)), Contains("KeepsItsName"));
  EXPECT_THAT(
      failing(counting(Fault::kEndFails)),
      IsSupersetOf({"KeepsTheErrorOfTheModel", "KeepsTheErrorOfEmptyData", "EndsWithoutStart"}));
  EXPECT_THAT(failing(counting(Fault::kForgetsState)), Contains("SavesItsState"));
  EXPECT_THAT(failing(counting(Fault::kNeedsState)), Contains("SavesItsState"));
  EXPECT_THAT(failing(counting(Fault::kHalfLoads)), Contains("SurvivesDamagedStates"));
  EXPECT_THAT(failing(counting(Fault::kAsksAlone)), ElementsAre("EndsAlikeOnTwoRanks"));
  EXPECT_THAT(failing(counting(Fault::kEndFailsAfterARefusal)),
              ElementsAre("SurvivesARefusedStep"));
  HookConformance needs_end = counting(Fault::kNeedsEnd);
  needs_end.one_per_process = true;
  EXPECT_THAT(failing(needs_end), ElementsAre("IsDestroyedWithoutEnd"));
}

TEST(HookConformanceTest, AHookThatChangesTheResultMustSaySo) {
  HookConformance conformance = counting(Counting::Fault::kStops);
  EXPECT_THAT(failing(conformance),
              IsSupersetOf({"Trains", "TrainsToACommonStop", "TrainsToAStopOfThisRank"}));
  conformance.changes_result = true;
  EXPECT_THAT(failing(conformance), IsEmpty());
}

}  // namespace
}  // namespace millrace
