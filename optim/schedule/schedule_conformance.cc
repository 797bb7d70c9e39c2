#include "optim/schedule/schedule_conformance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr double kRate = 0.3;

// Returns the rates at positions 0, 7, 14, …
std::vector<double> rates_of(const Schedule& schedule) {
  std::vector<double> rates;
  for (int t = 0; t < 12000; t += 7) rates.push_back(schedule.rate_at(t));
  return rates;
}

// Expects a rate that is finite and between 0 and the highest rate.
void expect_in_range(const ScheduleConformance& c, const Schedule& schedule, double position) {
  const double rate = schedule.rate_at(position);
  ASSERT_TRUE(std::isfinite(rate)) << "at " << position;
  ASSERT_GE(rate, 0) << "at " << position;
  ASSERT_LE(rate, c.highest * kRate * (1 + 1e-12)) << "at " << position;
}

// Observes values of a metric that improve, stay and grow worse.
void observe(Schedule& schedule, int begin, int end) {
  for (int i = begin; i < end; ++i) schedule.observe(100 + i % 7);
}

void check_range(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  const auto check = [&](double position) { expect_in_range(c, *schedule, position); };
  for (int t = 0; t <= 20000; ++t) check(t);
  for (double t = 0.125; t <= 300; t += 0.125) check(t);
  for (double t = 1; t < 1e19; t *= 1.7) {
    check(t);
    check(std::floor(t));
  }
}

void check_position_alone(const ScheduleConformance& c) {
  const auto forward = c.make(kRate);
  const auto backward = c.make(kRate);
  const std::vector<double> rates = rates_of(*forward);
  for (int i = static_cast<int>(rates.size()) - 1; i >= 0; --i) {
    ASSERT_EQ(backward->rate_at(7 * i), rates[i]) << "at " << 7 * i;
  }
  EXPECT_EQ(rates_of(*forward), rates) << "a second time";
}

void check_multiples(const ScheduleConformance& c) {
  const std::vector<double> once = rates_of(*c.make(kRate));
  const std::vector<double> twice = rates_of(*c.make(2 * kRate));
  const std::vector<double> zero = rates_of(*c.make(0));
  for (size_t i = 0; i < once.size(); ++i) {
    ASSERT_DOUBLE_EQ(twice[i], 2 * once[i]) << "at " << 7 * i;
    ASSERT_EQ(zero[i], 0) << "at " << 7 * i;
  }
}

void check_end(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  const double end = schedule->end();
  if (std::isinf(end) && end > 0) return;  // the rate changes forever
  ASSERT_GE(end, 0);
  const double last = schedule->rate_at(end);
  for (const double more : {0.5, 1.0, 2.0, 1000.0, 1e6, 1e12}) {
    EXPECT_EQ(schedule->rate_at(end + more), last) << "at " << end << " + " << more;
  }
}

// Checks that a small step changes the rate by little at all positions, also at the border of two
// formulas.
void check_jumps(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  const double most = c.slope * kRate;
  for (int t = 0; t <= 12000; ++t) {
    const double rate = schedule->rate_at(t);
    ASSERT_LE(std::abs(schedule->rate_at(t + 1) - rate), most) << "at " << t;
    ASSERT_LE(std::abs(schedule->rate_at(t + 1e-6) - rate), most * 1e-5) << "at " << t;
    if (t == 0) continue;
    ASSERT_LE(std::abs(schedule->rate_at(t - 1e-6) - rate), most * 1e-5) << "at " << t;
  }
}

void check_threads(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  std::vector<std::vector<double>> rates(4);
  call_on_threads(rates, [&](auto& each) { each = rates_of(*schedule); });
  const std::vector<double> expected = rates_of(*c.make(kRate));
  for (const std::vector<double>& each : rates) EXPECT_EQ(each, expected);
}

void check_monitor(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  const std::string monitor(schedule->monitor());
  const std::vector<double> before = rates_of(*schedule);
  observe(*schedule, 0, 100);
  EXPECT_EQ(schedule->monitor(), monitor);
  if (!monitor.empty()) return;
  EXPECT_EQ(rates_of(*schedule), before) << "a value changed the rate, but monitor() names none";
}

void check_state(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  for (const int values : {0, 1, 10, 100}) {
    SCOPED_TRACE(testing::Message() << "after " << values << " more values");
    observe(*schedule, 0, values);
    const auto copy = c.make(kRate);
    const ScheduleState state = schedule->state();
    EXPECT_FALSE(state.has_custom() && state.custom().name().empty())
        << "custom.name is missing: state could not be told from that of another schedule";
    ASSERT_TRUE(copy->load_state(state).ok());
    EXPECT_EQ(copy->state().SerializeAsString(), state.SerializeAsString());
    EXPECT_EQ(rates_of(*copy), rates_of(*schedule));
    observe(*copy, 3, 9);
    observe(*schedule, 3, 9);
    EXPECT_EQ(rates_of(*copy), rates_of(*schedule)) << "after values that both observed";
    EXPECT_EQ(copy->state().SerializeAsString(), schedule->state().SerializeAsString());
  }
}

void check_foreign_state(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  observe(*schedule, 0, 100);
  const std::string before = schedule->state().SerializeAsString();
  const std::vector<double> rates = rates_of(*schedule);
  const bool is_plateau = schedule->state().has_reduce_on_plateau();
  ScheduleState plateau, other_name;
  if (!is_plateau) plateau.mutable_reduce_on_plateau()->set_factor(0.125);
  other_name.mutable_custom()->set_name("other than " + schedule->state().custom().name());
  other_name.mutable_custom()->set_state(c.make(kRate)->state().custom().state());
  for (const ScheduleState& foreign : {ScheduleState(), plateau, other_name}) {
    EXPECT_TRUE(schedule->load_state(foreign).ok()) << foreign.ShortDebugString();
    EXPECT_EQ(schedule->state().SerializeAsString(), before) << foreign.ShortDebugString();
    EXPECT_EQ(rates_of(*schedule), rates) << foreign.ShortDebugString();
  }
}

void check_damaged_state(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  observe(*schedule, 0, 100);
  ScheduleState state = schedule->state();
  const std::string before = state.SerializeAsString();
  if (before.empty()) return;  // the schedule has no state
  if (state.has_reduce_on_plateau()) {
    state.mutable_reduce_on_plateau()->set_factor(-1);
  } else {
    // The byte cannot end a serialized message or any other text that contains its length.
    state.mutable_custom()->set_state("\xff");
  }
  EXPECT_EQ(schedule->load_state(state).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(schedule->state().SerializeAsString(), before) << "what was refused changed the state";
}

// Returns states of a registered schedule that are cut short, too long or changed by a bit.
std::vector<std::string> damaged(const std::string& state) {
  std::vector<std::string> all = {state + '\0', state + "x", state + state};
  for (size_t size = 0; size < state.size(); ++size) {
    all.push_back(state.substr(0, size));
    for (int bit = 0; bit < 8; ++bit) {
      all.push_back(state);
      all.back()[size] = static_cast<char>(all.back()[size] ^ (1 << bit));
    }
  }
  return all;
}

// Checks that no changed state leads to a rate out of range. A schedule need not notice each
// changed bit.
void check_changed_state(const ScheduleConformance& c) {
  const auto schedule = c.make(kRate);
  observe(*schedule, 0, 100);
  const ScheduleState whole = schedule->state();
  if (!whole.has_custom()) return;
  for (const std::string& bytes : damaged(whole.custom().state())) {
    SCOPED_TRACE(absl::StrCat("state \"", absl::CHexEscape(bytes), "\""));
    const auto loaded = c.make(kRate);
    const std::string before = loaded->state().SerializeAsString();
    ScheduleState state = whole;
    state.mutable_custom()->set_state(bytes);
    const absl::Status status = loaded->load_state(state);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
      EXPECT_EQ(loaded->state().SerializeAsString(), before)
          << "what was refused changed the state";
    }
    for (const double position : {0.0, 1.0, 1000.0, 1e9}) {
      expect_in_range(c, *loaded, position);
    }
  }
}

}  // namespace

std::vector<Property> schedule_properties(const ScheduleConformance& conformance) {
  const auto property = properties_of(conformance);
  std::vector<Property> properties = {
      property("IsFiniteAndFromZeroToTheHighest", check_range),
      property("DependsOnThePositionAlone", check_position_alone),
      property("IsAMultipleOfTheLearningRate", check_multiples),
      property("StaysFromTheEndOn", check_end),
      property("IsTheSameOnSeveralThreads", check_threads),
      property("ObservesWhatItMonitors", check_monitor),
      property("ContinuesFromItsState", check_state),
      property("IgnoresStateOfAnotherKind", check_foreign_state),
      property("RefusesAStateThatCannotBe", check_damaged_state),
      property("StaysInRangeWithADamagedState", check_changed_state),
  };
  if (std::isfinite(conformance.slope)) {
    properties.push_back(property("HasNoJumps", check_jumps));
  }
  return properties;
}

bool register_schedule_conformance(const std::string& suite, const ScheduleConformance& conformance,
                                   std::source_location place) {
  return register_properties(suite, schedule_properties(conformance), place);
}

}  // namespace millrace
