// Checks the promises of the interface Schedule for each kind of ScheduleConfig.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "optim/schedule/schedule_table.h"
#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

constexpr double kRate = 0.3;

struct Case {
  const char* name;
  const char* text;
  // If true, the rate has no jumps, and changes from step to step by at most `slope` × kRate.
  bool continuous = true;
  double slope = 0.03;
};

const Case kCases[] = {
    {"constant", "constant { factor: 0.5 }"},
    {"linear_warmup", "linear_warmup { start_factor: 0.1 length { count: 100 } }"},
    {"linear_warmup_none", "linear_warmup { length { count: 0 } }"},
    {"step", "step { length { count: 70 } gamma: 0.9 }", false},
    {"multi_step", "multi_step { milestone { count: 10 } milestone { share: 0.5 } }", false},
    {"exponential", "exponential { gamma: 0.99 }"},
    {"exponential_length", "exponential { gamma: 0.1 length { share: 0.25 } }"},
    {"cosine", "cosine { length { share: 0.9 } final_factor: 0.1 }"},
    {"cosine_warmup", "cosine { warmup { length { count: 300 } } length { share: 1 } }"},
    {"cosine_restarts",
     "cosine { warmup { length { count: 60 } } length { count: 500.5 } cycles: 4 "
     "cycle_multiplier: 1.37 cycle_decay: 0.7 final_factor: 0.01 }",
     false},
    {"cosine_endless", "cosine { length { count: 77 } cycles: 0 cycle_multiplier: 3 }", false},
    {"polynomial", "polynomial { length { share: 0.8 } power: 3 final_factor: 0.2 }"},
    {"polynomial_warmup", "polynomial { warmup { length { count: 99 } } length { count: 5000 } }"},
    {"inverse_square_root", "inverse_square_root { warmup_length { count: 123 } }"},
    {"inverse_square_root_none", "inverse_square_root {}", true, 0.3},
    {"myle", "myle { warmup { length { count: 222 } start_factor: 0.5 } }"},
    {"tri_stage", "tri_stage { length { share: 0.6 } warmup_ratio: 0.1 hold_ratio: 0.3 }"},
    {"chained",
     "chained { part { length { count: 50 } schedule { linear_warmup { length { count: 50 } } } } "
     "part { length { count: 100 } schedule { constant {} } } "
     "part { schedule { cosine { length { count: 4000 } } } } }"},
    {"reduce_on_plateau", "reduce_on_plateau { monitor: \"eval/loss\" }"},
};

class ScheduleConformanceTest : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Schedule> make() const { return make_schedule(GetParam().text, kRate); }
};

TEST_P(ScheduleConformanceTest, RatesAreFiniteAndFromZeroToTheLearningRate) {
  const auto schedule = make();
  const auto check = [&](double position) {
    const double rate = schedule->rate_at(position);
    EXPECT_TRUE(rate >= 0 && rate <= kRate * (1 + 1e-12)) << "at " << position << ": " << rate;
  };
  for (int t = 0; t <= 20000; ++t) check(t);
  for (double t = 0.125; t <= 300; t += 0.125) check(t);
  for (double t = 1; t < 1e19; t *= 1.7) {
    check(t);
    check(std::floor(t));
  }
}

TEST_P(ScheduleConformanceTest, RatesDependOnThePositionAlone) {
  const auto forward = make();
  const auto backward = make();
  std::vector<double> rates;
  for (int t = 0; t < 12000; t += 7) rates.push_back(forward->rate_at(t));
  for (int i = static_cast<int>(rates.size()) - 1; i >= 0; --i) {
    EXPECT_EQ(backward->rate_at(7 * i), rates[i]) << "at " << 7 * i;
  }
}

TEST_P(ScheduleConformanceTest, RatesScaleWithTheLearningRate) {
  const auto schedule = make();
  const auto twice = make_schedule(GetParam().text, 2 * kRate);
  const auto zero = make_schedule(GetParam().text, 0);
  for (int t = 0; t < 12000; t += 7) {
    EXPECT_DOUBLE_EQ(twice->rate_at(t), 2 * schedule->rate_at(t)) << "at " << t;
    EXPECT_EQ(zero->rate_at(t), 0) << "at " << t;
  }
}

TEST_P(ScheduleConformanceTest, RateStaysFromTheEndOn) {
  const auto schedule = make();
  const double end = schedule->end();
  if (std::isinf(end)) return;  // the rate changes forever
  ASSERT_GE(end, 0);
  const double last = schedule->rate_at(end);
  for (const double more : {0.5, 1.0, 2.0, 1000.0, 1e6, 1e12}) {
    EXPECT_EQ(schedule->rate_at(end + more), last) << "at " << end << " + " << more;
  }
}

TEST_P(ScheduleConformanceTest, RateHasNoJumpsIfItIsContinuous) {
  if (!GetParam().continuous) return;
  const auto schedule = make();
  // A small step changes the rate by little everywhere, also where two formulas meet.
  const double most = GetParam().slope * kRate;
  for (int t = 0; t <= 12000; ++t) {
    const double rate = schedule->rate_at(t);
    EXPECT_LE(std::abs(schedule->rate_at(t + 1) - rate), most) << "at " << t;
    EXPECT_LE(std::abs(schedule->rate_at(t + 1e-6) - rate), most * 1e-5) << "at " << t;
    if (t == 0) continue;
    EXPECT_LE(std::abs(schedule->rate_at(t - 1e-6) - rate), most * 1e-5) << "at " << t;
  }
}

TEST_P(ScheduleConformanceTest, StateMakesAnEqualSchedule) {
  const auto schedule = make();
  for (int i = 0; i < 100; ++i) schedule->observe(100 + i % 7);
  const auto copy = make();
  ASSERT_TRUE(copy->load_state(schedule->state()).ok());
  EXPECT_EQ(copy->state().SerializeAsString(), schedule->state().SerializeAsString());
  for (int t = 0; t < 12000; t += 7) EXPECT_EQ(copy->rate_at(t), schedule->rate_at(t));
}

INSTANTIATE_TEST_SUITE_P(All, ScheduleConformanceTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(ScheduleTableTest, HasEachKindAndEachIsTested) {
  const auto* kinds = ScheduleConfig::descriptor()->FindOneofByName("kind");
  std::set<int> tested;
  for (const Case& one : kCases) tested.insert(parse_schedule(one.text).kind_case());
  for (int i = 0; i < kinds->field_count(); ++i) {
    const int number = kinds->field(i)->number();
    EXPECT_NE(schedule_table().find(static_cast<ScheduleConfig::KindCase>(number)), nullptr)
        << kinds->field(i)->name();
    if (kinds->field(i)->name() == "custom") continue;
    EXPECT_EQ(tested.count(number), 1) << kinds->field(i)->name() << " is not among the cases";
  }
}

}  // namespace
}  // namespace millrace
