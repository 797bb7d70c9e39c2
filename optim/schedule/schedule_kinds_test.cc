#include "optim/schedule/schedule_kinds.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

struct RateCase {
  std::string schedule;
  double learning_rate;
  std::vector<std::pair<double, double>> rates;  // by their positions
  double end = kForever;
};

TEST(ScheduleKindsTest, RatesFollowTheirFormula) {
  const std::vector<RateCase> cases = {
      {"constant { factor: 0.25 }", 0.4, {{0, 0.1}, {1e9, 0.1}}, 0},
      {"constant {}", 0.4, {{7, 0.4}}, 0},
      {"linear_warmup { start_factor: 0.25 length { count: 4 } }",
       8,
       {{0, 2}, {1, 3.5}, {3, 6.5}, {4, 8}, {5, 8}},
       4},
      {"linear_warmup { length { count: 0 } }", 1, {{0, 1}}, 0},
      {"tri_stage { length { count: 10 } warmup_ratio: 0.2 hold_ratio: 0.4 start_factor: 0.5 "
       "final_factor: 0.0625 }",
       16,
       {{0, 8}, {1, 12}, {2, 16}, {6, 16}, {7, 8}, {9, 2}, {10, 1}, {11, 1}},
       10},
      // The schedule is decay alone if both ratios are 0.
      {"tri_stage { length { count: 2 } }", 1, {{0, 1}, {1, 0.1}, {2, 0.01}}, 2},
      {"step { length { count: 3 } gamma: 0.5 }", 8, {{0, 8}, {2, 8}, {3, 4}, {5, 4}, {6, 2}}},
      // The product 0.7 × 10 epochs is 7 in spite of rounding.
      {"unit: EPOCHS multi_step { gamma: 0.5 milestone { count: 3 } milestone { share: 0.7 } "
       "milestone { count: 7 } }",
       8,
       {{0, 8}, {2, 8}, {3, 4}, {6, 4}, {7, 1}, {8, 1}},
       7},
      // The rate underflows at high positions.
      {"exponential { gamma: 0.5 }", 8, {{0, 8}, {1, 4}, {3, 1}, {1e6, 0}}},
      {"exponential { gamma: 0.25 length { count: 10 } }", 8, {{5, 4}, {10, 2}}},
      {"inverse_square_root { warmup_length { count: 4 } }", 8, {{0, 0}, {1, 1}, {4, 4}, {16, 2}}},
      {"inverse_square_root {}", 8, {{0, 8}, {1, 8}, {4, 4}}},
      {"inverse_square_root { warmup_length { count: 0 } }", 8, {{0, 8}, {1, 8}, {4, 4}}},
      {"myle { warmup { length { count: 4 } start_factor: 0.5 } }",
       8,
       {{0, 4}, {2, 6}, {4, 8}, {16, 4}}},
      {"polynomial { warmup { length { count: 2 } start_factor: 0.5 } length { count: 12 } power: "
       "2 final_factor: 0.2 }",
       10,
       {{0, 5}, {1, 7.5}, {2, 10}, {7, 4}, {12, 2}, {13, 2}},
       12},
      // The decay is linear by default.
      {"polynomial { length { count: 4 } }", 8, {{0, 8}, {1, 6}, {2, 4}, {3, 2}, {4, 0}}, 4},
      {"cosine { length { count: 8 } final_factor: 0.2 }",
       10,
       {{0, 10}, {4, 6}, {8, 2}, {9, 2}},
       8},
      // The warm-up is part of the length.
      {"cosine { length { count: 12 } warmup { length { count: 4 } start_factor: 0.5 } }",
       10,
       {{0, 5}, {2, 7.5}, {4, 10}, {8, 5}, {12, 0}},
       12},
      {"cosine { length { count: 4 } cycles: 3 cycle_multiplier: 2 cycle_decay: 0.5 "
       "final_factor: 0.25 }",
       16,
       {{0, 16}, {2, 10}, {4, 8}, {8, 5}, {12, 4}, {20, 2.5}, {28, 1}, {100, 1}},
       28},
      {"cosine { length { count: 4 } cycles: 0 }", 1, {{4, 1}}},
      // Each part begins at its own position 0.
      {"chained { part { length { count: 4 } schedule { linear_warmup { length { count: 4 } } } } "
       "part { length { count: 3 } schedule { constant { factor: 0.5 } } } "
       "part { schedule { polynomial { length { count: 4 } } } } }",
       8,
       {{0, 0}, {3, 6}, {4, 4}, {6, 4}, {7, 8}, {8, 6}, {11, 0}},
       11},
      // A chain may contain chains.
      {"unit: EPOCHS chained { part { length { share: 0.5 } schedule { chained { "
       "part { length { count: 2 } schedule { constant { factor: 0.25 } } } "
       "part { schedule { constant {} } } } } } "
       "part { schedule { constant { factor: 0.125 } } } }",
       8,
       {{1, 2}, {2, 8}, {4, 8}, {5, 1}},
       5},
  };
  for (const RateCase& one : cases) {
    SCOPED_TRACE(one.schedule);
    const auto schedule = make_schedule(one.schedule, one.learning_rate);
    for (const auto& [position, rate] : one.rates) {
      EXPECT_DOUBLE_EQ(schedule->rate_at(position), rate) << "at " << position;
    }
    EXPECT_EQ(schedule->end(), one.end);
  }
}

TEST(ScheduleKindsTest, CosineRestartsOnTheStepInSpiteOfRounding) {
  // The cycles 1000, 1100, 1210, 1331 end at whole steps.
  const auto grow =
      make_schedule("cosine { length { count: 1000 } cycles: 0 cycle_multiplier: 1.1 }");
  for (const double start : {0, 1000, 2100, 3310, 4641}) EXPECT_EQ(grow->rate_at(start), 1);
  const auto same = make_schedule("cosine { length { share: 0.07 } cycles: 0 }");
  for (int cycle = 0; cycle < 1000; ++cycle) EXPECT_EQ(same->rate_at(cycle * 700), 1) << cycle;
}

TEST(ScheduleKindsTest, CosineStaysInRangeAfterManyCycles) {
  const auto slow =
      make_schedule("cosine { length { count: 1 } cycles: 0 cycle_multiplier: 1.0000001 }");
  const double rate = slow->rate_at(1e15);
  EXPECT_TRUE(rate >= 0 && rate <= 1) << rate;
}

TEST(ScheduleKindsTest, EachErrorIsReported) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"constant { factor: 1.5 }", "s.constant: factor is 1.5; must be 0 to 1"},
      {"constant { factor: nan }", "s.constant: factor is nan; must be 0 to 1"},
      {"linear_warmup { start_factor: -1 }",
       "s.linear_warmup.length: is missing; set count or share\n"
       "s.linear_warmup: start_factor is -1; must be 0 to 1"},
      {"linear_warmup { length { count: 10000 } }", ""},
      {"linear_warmup { length { count: 10001 } }",
       "s.linear_warmup.length: the warm-up of 10001 steps does not end in training, which has "
       "10000; shorten it or raise max_steps"},
      // The total is not known.
      {"linear_warmup { length { count: 1e9 } } unit: EXAMPLES", ""},
      {"tri_stage { length { share: 2 } warmup_ratio: 0.5 hold_ratio: 0.5 start_factor: -1 "
       "final_factor: 0 }",
       "s.tri_stage: warmup_ratio + hold_ratio is 1; must be below 1, so that the decay has a "
       "length\n"
       "s.tri_stage: start_factor is -1; must be 0 to 1\n"
       "s.tri_stage: final_factor is 0; must be above 0 and at most 1\n"
       "s.tri_stage.length: share is 2; must be above 0 and at most 1"},
      {"step { length { count: 0 } gamma: 0 }",
       "s.step.length: count is 0; must be at least 1\n"
       "s.step: gamma is 0; must be above 0 and at most 1"},
      {"multi_step { gamma: 2 }",
       "s.multi_step: milestone is missing; set at least one\n"
       "s.multi_step: gamma is 2; must be above 0 and at most 1"},
      {"multi_step { milestone { count: 5 } milestone {} milestone { count: 4 } }",
       "s.multi_step.milestone[1]: is missing; set count or share\n"
       "s.multi_step.milestone[2]: is at 4, before 5, the milestone before it; milestones must "
       "ascend"},
      {"exponential {}", "s.exponential: gamma is missing; set it above 0 and to at most 1"},
      {"exponential { gamma: 1.01 length { count: -1 } }",
       "s.exponential: gamma is 1.01; must be above 0 and at most 1\n"
       "s.exponential.length: count is -1; must be at least 0 and finite"},
      {"inverse_square_root { warmup_length { count: -4 } }",
       "s.inverse_square_root.warmup_length: count is -4; must be at least 0 and finite"},
      {"inverse_square_root { warmup_length { count: 10001 } }",
       "s.inverse_square_root.warmup_length: the warm-up of 10001 steps does not end in training, "
       "which has 10000; shorten it or raise max_steps"},
      {"myle {}", "s.myle.warmup.length: is missing; set count or share"},
      {"myle { warmup { length { count: 0 } } }",
       "s.myle.warmup.length: count is 0; must be at least 1"},
      {"polynomial { length { count: 3 } warmup { length { count: 3 } } power: 0 final_factor: 2 }",
       "s.polynomial.warmup: its length is 3; must be at most 2, one less than the schedule with "
       "its warm-up\n"
       "s.polynomial: power is 0; must be greater than 0 and finite\n"
       "s.polynomial: final_factor is 2; must be 0 to 1"},
      {"cosine { warmup { start_factor: 2 } final_factor: -1 cycles: -1 cycle_multiplier: 0.5 "
       "cycle_decay: inf }",
       "s.cosine.length: is missing; set count or share\n"
       "s.cosine.warmup.length: is missing; set count or share\n"
       "s.cosine: final_factor is -1; must be 0 to 1\n"
       "s.cosine: cycles is -1; must be at least 0\n"
       "s.cosine: cycle_multiplier is 0.5; must be 1 to 1000\n"
       "s.cosine: cycle_decay is inf; must be above 0 and at most 1\n"
       "s.cosine.warmup: start_factor is 2; must be 0 to 1"},
      {"cosine { warmup { length { share: 0.1 } } length { count: 9 } }",
       "s.cosine.warmup: its length is 1000; must be at most 8, one less than the schedule with "
       "its warm-up"},
      {"chained {}", "s.chained: part is missing; set at least one"},
      {"chained { part { schedule { unit: EPOCHS constant { factor: 2 } } } "
       "part { length { count: 1 } schedule { reduce_on_plateau {} } } "
       "part { length { count: 1 } } }",
       "s.chained.part[0].length: is missing; set count or share\n"
       "s.chained.part[0].schedule: unit is set; set it in the schedule that holds the chain\n"
       "s.chained.part[1].schedule: its rate follows from a metric, so it cannot be part of a "
       "chain\n"
       "s.chained.part[2]: length is set; the last part has none, since it does not end\n"
       "s.chained.part[2].schedule: has no kind; set one of constant, linear_warmup, step, "
       "multi_step, exponential, cosine, polynomial, inverse_square_root, myle, tri_stage, "
       "chained, reduce_on_plateau, custom\n"
       "s.chained.part[0].schedule.constant: factor is 2; must be 0 to 1"},
  };
  for (const auto& [schedule, errors] : cases) {
    EXPECT_EQ(errors_of_schedule(schedule), errors) << schedule;
  }
}

}  // namespace
}  // namespace millrace
