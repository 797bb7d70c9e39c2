// Checks the promises of the interface Schedule for each kind of ScheduleConfig, and that the suite
// finds a schedule that breaks one.

#include "optim/schedule/schedule_conformance.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kJumps = std::numeric_limits<double>::infinity();

struct Case {
  const char* name;
  const char* text;
  double slope = 0.03;  // see ScheduleConformance
};

const Case kCases[] = {
    {"Constant", "constant { factor: 0.5 }"},
    {"LinearWarmup", "linear_warmup { start_factor: 0.1 length { count: 100 } }"},
    {"LinearWarmupOfNothing", "linear_warmup { length { count: 0 } }"},
    {"Step", "step { length { count: 70 } gamma: 0.9 }", kJumps},
    {"MultiStep", "multi_step { milestone { count: 10 } milestone { share: 0.5 } }", kJumps},
    {"Exponential", "exponential { gamma: 0.99 }"},
    {"ExponentialOfALength", "exponential { gamma: 0.1 length { share: 0.25 } }"},
    {"Cosine", "cosine { length { share: 0.9 } final_factor: 0.1 }"},
    {"CosineWithWarmup", "cosine { warmup { length { count: 300 } } length { share: 1 } }"},
    {"CosineWithRestarts",
     "cosine { warmup { length { count: 60 } } length { count: 500.5 } cycles: 4 "
     "cycle_multiplier: 1.37 cycle_decay: 0.7 final_factor: 0.01 }",
     kJumps},
    {"EndlessCosine", "cosine { length { count: 77 } cycles: 0 cycle_multiplier: 3 }", kJumps},
    {"Polynomial", "polynomial { length { share: 0.8 } power: 3 final_factor: 0.2 }"},
    {"PolynomialWithWarmup",
     "polynomial { warmup { length { count: 99 } } length { count: 5000 } }"},
    {"InverseSquareRoot", "inverse_square_root { warmup_length { count: 123 } }"},
    {"InverseSquareRootWithoutWarmup", "inverse_square_root {}", 0.3},
    {"Myle", "myle { warmup { length { count: 222 } start_factor: 0.5 } }"},
    {"TriStage", "tri_stage { length { share: 0.6 } warmup_ratio: 0.1 hold_ratio: 0.3 }"},
    {"Chained",
     "chained { part { length { count: 50 } schedule { linear_warmup { length { count: 50 } } } } "
     "part { length { count: 100 } schedule { constant {} } } "
     "part { schedule { cosine { length { count: 4000 } } } } }"},
    {"ReduceOnPlateau", "reduce_on_plateau { monitor: \"eval/loss\" }"},
};

[[maybe_unused]] const bool kEachKind = [] {
  for (const Case& one : kCases) {
    register_schedule_conformance(
        one.name, {.make = [&one](double rate) { return make_schedule(one.text, rate); },
                   .slope = one.slope});
  }
  return true;
}();

TEST(ScheduleConformanceTest, EachKindIsTested) {
  const auto* kinds = ScheduleConfig::descriptor()->FindOneofByName("kind");
  std::set<int> tested;
  for (const Case& one : kCases) tested.insert(parse_schedule(one.text).kind_case());
  for (int i = 0; i < kinds->field_count(); ++i) {
    const int number = kinds->field(i)->number();
    if (number == ScheduleConfig::kCustom) continue;  // from outside, by name
    EXPECT_EQ(tested.count(number), 1) << kinds->field(i)->name() << " is not among the cases";
  }
}

// A constant rate that follows the metric eval/loss, with a fault that a test can choose.
class FaultySchedule : public Schedule {
 public:
  enum class Fault {
    kNone,
    kBelowZero,
    kAboveTheHighest,
    kNotFinite,
    kCountsCalls,
    kAddsAConstant,
    kChangesAfterItsEnd,
    kJumps,
    kMonitorsNothing,
    kForgetsState,
    kTakesForeignState,
    kTakesAnyState,
  };
  FaultySchedule(Fault fault, double learning_rate)
      : Schedule(ScheduleConfig::STEPS), fault_(fault), learning_rate_(learning_rate) {
    state_.mutable_reduce_on_plateau()->set_factor(1);
  }

  double rate_at(double position) const override {
    const double rate = learning_rate_ * state_.reduce_on_plateau().factor();
    switch (fault_) {
      case Fault::kBelowZero: return position == 15000 ? -rate : rate;
      case Fault::kAboveTheHighest: return position > 1e18 ? 2 * rate : rate;
      case Fault::kNotFinite: return position > 1e18 ? kJumps : rate;
      case Fault::kCountsCalls: return rate / ++calls_;
      case Fault::kAddsAConstant: return rate > 0 ? rate - 1e-4 : 0;
      case Fault::kChangesAfterItsEnd: return position > 50000 ? rate / 2 : rate;
      case Fault::kJumps: return position > 3000 ? rate / 2 : rate;
      default: return rate;
    }
  }
  double end() const override { return fault_ == Fault::kChangesAfterItsEnd ? 100 : kJumps; }
  absl::string_view monitor() const override {
    return fault_ == Fault::kMonitorsNothing ? "" : "eval/loss";
  }
  void observe(double) override {
    ReduceOnPlateauState& state = *state_.mutable_reduce_on_plateau();
    state.set_factor(state.factor() * 0.99);
  }
  ScheduleState state() const override {
    return fault_ == Fault::kForgetsState ? FaultySchedule(fault_, 1).state_ : state_;
  }
  absl::Status load_state(const ScheduleState& state) override {
    if (!state.has_reduce_on_plateau() && fault_ != Fault::kTakesForeignState) {
      return absl::OkStatus();
    }
    if (state.reduce_on_plateau().factor() < 0 && fault_ != Fault::kTakesAnyState) {
      return absl::InvalidArgumentError("factor is below 0");
    }
    state_ = state;
    return absl::OkStatus();
  }

 private:
  const Fault fault_;
  const double learning_rate_;
  ScheduleState state_;
  mutable std::atomic<int> calls_ = 0;
};

// A registered schedule with state: the rate follows the number of observed values.
class CountingSchedule : public Schedule {
 public:
  enum class Fault {
    kNone,
    kHasNoName,
    kTakesEveryName,
    kTakesAnyState,
    kTakesStateWithARest,
    kChangesBeforeItRefuses,
  };
  CountingSchedule(Fault fault, double learning_rate)
      : Schedule(ScheduleConfig::STEPS), fault_(fault), learning_rate_(learning_rate) {}

  double rate_at(double) const override { return learning_rate_ / (1 + values_); }
  absl::string_view monitor() const override { return "eval/loss"; }
  void observe(double) override { ++values_; }
  ScheduleState state() const override {
    ScheduleState state;
    if (fault_ != Fault::kHasNoName) state.mutable_custom()->set_name("counting");
    state.mutable_custom()->set_state(std::to_string(values_));
    return state;
  }
  absl::Status load_state(const ScheduleState& state) override {
    const std::string name = fault_ == Fault::kHasNoName ? "" : "counting";
    const bool is_own = state.has_custom() && state.custom().name() == name;
    if (!is_own && fault_ != Fault::kTakesEveryName) return absl::OkStatus();
    int values = 0;
    if (fault_ == Fault::kTakesStateWithARest && absl::EndsWith(state.custom().state(), "x")) {
      values_ = -1;
      return absl::OkStatus();
    }
    // The impossible state of the suite does not begin with a digit.
    if (fault_ == Fault::kChangesBeforeItRefuses && absl::StartsWith(state.custom().state(), "1")) {
      ++values_;
    }
    if (!absl::SimpleAtoi(state.custom().state(), &values) && fault_ != Fault::kTakesAnyState) {
      return is_own ? absl::InvalidArgumentError("no number") : absl::OkStatus();
    }
    values_ = values;
    return absl::OkStatus();
  }

 private:
  const Fault fault_;
  const double learning_rate_;
  int values_ = 0;
};

std::vector<std::string> failing(CountingSchedule::Fault fault) {
  return failing_properties(schedule_properties(
      {.make = [=](double rate) { return std::make_unique<CountingSchedule>(fault, rate); }}));
}

TEST(ScheduleConformanceTest, FaultsOfRegisteredSchedulesFailTheirProperty) {
  using Fault = CountingSchedule::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kHasNoName), ElementsAre("ContinuesFromItsState"));
  EXPECT_THAT(failing(Fault::kTakesEveryName), ElementsAre("IgnoresStateOfAnotherKind"));
  EXPECT_THAT(failing(Fault::kTakesAnyState), ElementsAre("RefusesAStateThatCannotBe"));
  EXPECT_THAT(failing(Fault::kTakesStateWithARest), ElementsAre("StaysInRangeWithADamagedState"));
  EXPECT_THAT(failing(Fault::kChangesBeforeItRefuses),
              ElementsAre("StaysInRangeWithADamagedState"));
}

std::vector<std::string> failing(FaultySchedule::Fault fault) {
  return failing_properties(schedule_properties(
      {.make = [=](double rate) { return std::make_unique<FaultySchedule>(fault, rate); },
       .slope = 0.1}));
}

TEST(ScheduleConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultySchedule::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kBelowZero), ElementsAre("IsFiniteAndFromZeroToTheHighest"));
  EXPECT_THAT(failing(Fault::kAboveTheHighest), ElementsAre("IsFiniteAndFromZeroToTheHighest"));
  EXPECT_THAT(failing(Fault::kNotFinite), ElementsAre("IsFiniteAndFromZeroToTheHighest"));
  EXPECT_THAT(failing(Fault::kCountsCalls),
              testing::IsSupersetOf({"DependsOnThePositionAlone", "IsTheSameOnSeveralThreads"}));
  EXPECT_THAT(failing(Fault::kAddsAConstant), ElementsAre("IsAMultipleOfTheLearningRate"));
  EXPECT_THAT(failing(Fault::kChangesAfterItsEnd), ElementsAre("StaysFromTheEndOn"));
  EXPECT_THAT(failing(Fault::kJumps), ElementsAre("HasNoJumps"));
  EXPECT_THAT(failing(Fault::kMonitorsNothing), ElementsAre("ObservesWhatItMonitors"));
  EXPECT_THAT(failing(Fault::kForgetsState), Contains("ContinuesFromItsState"));
  EXPECT_THAT(failing(Fault::kTakesForeignState), ElementsAre("IgnoresStateOfAnotherKind"));
  EXPECT_THAT(failing(Fault::kTakesAnyState), ElementsAre("RefusesAStateThatCannotBe"));
}

}  // namespace
}  // namespace millrace
