#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status_matchers.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::unique_ptr<Schedule> make(const std::string& fields, double learning_rate = 1) {
  return make_schedule("reduce_on_plateau { monitor: \"eval/auc\" " + fields + " }", learning_rate);
}

// Observes the values and returns the rate.
double after(Schedule& schedule, std::initializer_list<double> values) {
  for (const double value : values) schedule.observe(value);
  return schedule.rate_at(0);
}

TEST(ReduceOnPlateauScheduleTest, ReducesAfterMoreThanPatienceBadValues) {
  const auto schedule = make("factor: 0.5 patience: 2");
  EXPECT_EQ(schedule->monitor(), "eval/auc");
  EXPECT_EQ(after(*schedule, {5, 6, 6}), 1);
  EXPECT_EQ(after(*schedule, {6}), 0.5);
  EXPECT_EQ(after(*schedule, {6, 6}), 0.5);
  EXPECT_EQ(after(*schedule, {6}), 0.25);
  EXPECT_EQ(after(*schedule, {6, 6, 4, 6, 6}), 0.25) << "4 is better";
  EXPECT_EQ(schedule->rate_at(1e9), 0.25) << "the position does not matter";
}

TEST(ReduceOnPlateauScheduleTest, ThresholdIsRelativeOrAbsolute) {
  const auto bad_values = [](const std::string& fields, std::initializer_list<double> values) {
    const auto schedule = make(fields);
    after(*schedule, values);
    return schedule->state().reduce_on_plateau().bad_values();
  };
  EXPECT_EQ(bad_values("threshold: 0.125", {8, 7}), 1);
  EXPECT_EQ(bad_values("threshold: 0.125", {8, 6.99}), 0);
  EXPECT_EQ(bad_values("threshold: 0.125 mode: MAX", {8, 9}), 1);
  EXPECT_EQ(bad_values("threshold: 0.125 mode: MAX", {8, 9.01}), 0);
  EXPECT_EQ(bad_values("threshold: 2 threshold_mode: ABS", {8, 6}), 1);
  EXPECT_EQ(bad_values("threshold: 2 threshold_mode: ABS", {8, 5.99}), 0);
  EXPECT_EQ(bad_values("threshold: 2 threshold_mode: ABS mode: MAX", {8, 10}), 1);
  EXPECT_EQ(bad_values("threshold: 2 threshold_mode: ABS mode: MAX", {8, 10.01}), 0);
}

TEST(ReduceOnPlateauScheduleTest, WarnsOnceOfValuesBelow0) {
  std::vector<std::string> lines;
  set_log_sink([&lines](LogSeverity, absl::string_view line) { lines.emplace_back(line); });
  after(*make(""), {1, -1, -2});
  after(*make("threshold_mode: ABS"), {-1});
  after(*make("threshold: 0"), {-1});
  set_log_sink({});
  ASSERT_EQ(lines.size(), 1);
  EXPECT_THAT(lines[0], HasSubstr("eval/auc is -1"));
}

TEST(ReduceOnPlateauScheduleTest, CooldownIgnoresBadValues) {
  const auto schedule = make("factor: 0.5 patience: 0 cooldown: 2");
  EXPECT_EQ(after(*schedule, {5, 6}), 0.5);
  EXPECT_EQ(after(*schedule, {6, 6}), 0.5);
  EXPECT_EQ(after(*schedule, {6}), 0.25);
}

TEST(ReduceOnPlateauScheduleTest, StopsAtTheLowestRate) {
  const auto schedule = make("factor: 0.5 patience: 0 min_rate: 3", 8);
  EXPECT_EQ(after(*schedule, {5, 6}), 4);
  EXPECT_EQ(after(*schedule, {6}), 3);
  EXPECT_EQ(after(*schedule, {6}), 3);
  EXPECT_EQ(after(*make("factor: 0.5 patience: 0 min_rate: 9", 8), {5, 6}), 8);
  EXPECT_EQ(after(*make("factor: 0.5 patience: 0 epsilon: 4", 8), {5, 6}), 8);
  EXPECT_EQ(after(*make("factor: 0.5 patience: 0", 0), {5, 6}), 0);
}

TEST(ReduceOnPlateauScheduleTest, ValuesThatAreNotFiniteAreBad) {
  const auto schedule = make("factor: 0.5 patience: 0");
  EXPECT_EQ(after(*schedule, {kNan}), 0.5);
  EXPECT_EQ(after(*schedule, {-kInfinity}), 0.25);
  EXPECT_FALSE(schedule->state().reduce_on_plateau().has_best());
  EXPECT_EQ(after(*schedule, {5}), 0.25);
  EXPECT_EQ(schedule->state().reduce_on_plateau().best(), 5);
}

TEST(ReduceOnPlateauScheduleTest, ResumesAtAnyValue) {
  const std::string fields = "factor: 0.7 patience: 1 cooldown: 1";
  const auto whole = make(fields);
  auto resumed = make(fields);
  for (const double value : {5, 6, 6, 4, 6, 6, 6, 6, 3, 6, 6, 6, 6, 6, 6}) {
    whole->observe(value);
    resumed->observe(value);
    const ScheduleState state = resumed->state();
    resumed = make(fields);
    EXPECT_OK(resumed->load_state(state));
    EXPECT_EQ(resumed->rate_at(0), whole->rate_at(0));
    EXPECT_EQ(resumed->state().SerializeAsString(), whole->state().SerializeAsString());
  }
  EXPECT_LT(whole->rate_at(0), 0.5);
}

TEST(ReduceOnPlateauScheduleTest, StateOfAnotherKindIsIgnored) {
  const auto schedule = make("factor: 0.5 patience: 0");
  after(*schedule, {5, 6});
  EXPECT_OK(schedule->load_state(ScheduleState()));
  EXPECT_EQ(schedule->rate_at(0), 0.5);
}

TEST(ReduceOnPlateauScheduleTest, RefusesAStateThatCannotBe) {
  const auto schedule = make("");
  const std::string before = schedule->state().SerializeAsString();
  const auto refuse = [&](auto set, const std::string& error) {
    ScheduleState state = schedule->state();
    set(state.mutable_reduce_on_plateau());
    EXPECT_THAT(schedule->load_state(state),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
    EXPECT_EQ(schedule->state().SerializeAsString(), before);
  };
  refuse([](auto* state) { state->set_best(kNan); }, "best is nan; must be finite");
  refuse([](auto* state) { state->set_bad_values(-1); }, "bad_values is -1");
  refuse([](auto* state) { state->set_cooldown_left(-1); }, "cooldown_left is -1");
  refuse([](auto* state) { state->set_factor(1.5); }, "factor is 1.5; must be 0 to 1");
}

TEST(ReduceOnPlateauScheduleTest, ReportsEachError) {
  EXPECT_EQ(
      errors_of_schedule("reduce_on_plateau { factor: 1 patience: -1 threshold: 1 cooldown: -1 "
                         "min_rate: -1 epsilon: nan }"),
      "s.reduce_on_plateau: monitor is missing; set it to SET/METRIC with the name of an "
      "evaluation set, such as eval/auc, or to train/METRIC\n"
      "s.reduce_on_plateau: threshold is 1; must be at least 0 and below 1\n"
      "s.reduce_on_plateau: factor is 1; must be above 0 and below 1\n"
      "s.reduce_on_plateau: patience is -1; must be at least 0\n"
      "s.reduce_on_plateau: cooldown is -1; must be at least 0\n"
      "s.reduce_on_plateau: min_rate is -1; must be at least 0 and finite\n"
      "s.reduce_on_plateau: epsilon is nan; must be at least 0 and finite");
  for (const char* monitor : {"auc", "/auc", "eval/", "eval//auc"}) {
    EXPECT_THAT(
        errors_of_schedule(std::string("reduce_on_plateau { monitor: \"") + monitor + "\" }"),
        HasSubstr(std::string("monitor is \"") + monitor + "\"; set it to SET/METRIC"));
  }
  EXPECT_EQ(errors_of_schedule("reduce_on_plateau { monitor: \"eval/click/auc\" threshold: 9 "
                               "threshold_mode: ABS }"),
            "");
}

}  // namespace
}  // namespace millrace
