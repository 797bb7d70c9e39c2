#include "optim/schedule/kinds/chained_schedule.h"

#include <gtest/gtest.h>

#include "optim/schedule/schedule_testing.h"

namespace millrace {
namespace {

TEST(ChainedScheduleTest, EachPartBeginsAtItsOwnZero) {
  const auto schedule = make_schedule(
      "chained { part { length { count: 4 } schedule { linear_warmup { length { count: 4 } } } } "
      "part { length { count: 3 } schedule { constant { factor: 0.5 } } } "
      "part { schedule { polynomial { length { count: 4 } } } } }",
      8);
  EXPECT_EQ(schedule->rate_at(0), 0);
  EXPECT_EQ(schedule->rate_at(3), 6);
  EXPECT_EQ(schedule->rate_at(4), 4);
  EXPECT_EQ(schedule->rate_at(6), 4);
  EXPECT_EQ(schedule->rate_at(7), 8);
  EXPECT_EQ(schedule->rate_at(8), 6);
  EXPECT_EQ(schedule->rate_at(11), 0);
  EXPECT_EQ(schedule->end(), 11);
}

TEST(ChainedScheduleTest, HoldsChains) {
  const auto schedule = make_schedule(
      "unit: EPOCHS chained { part { length { share: 0.5 } schedule { chained { "
      "part { length { count: 2 } schedule { constant { factor: 0.25 } } } "
      "part { schedule { constant {} } } } } } "
      "part { schedule { constant { factor: 0.125 } } } }",
      8);
  EXPECT_EQ(schedule->rate_at(1), 2);
  EXPECT_EQ(schedule->rate_at(2), 8);
  EXPECT_EQ(schedule->rate_at(4), 8);
  EXPECT_EQ(schedule->rate_at(5), 1);
}

TEST(ChainedScheduleTest, ReportsEachError) {
  EXPECT_EQ(errors_of_schedule("chained {}"), "s.chained: part is missing; set at least one");
  EXPECT_EQ(
      errors_of_schedule("chained { part { schedule { unit: EPOCHS constant { factor: 2 } } } "
                         "part { length { count: 1 } schedule { reduce_on_plateau {} } } "
                         "part { length { count: 1 } } }"),
      "s.chained.part[0].length: is missing; set count or share\n"
      "s.chained.part[0].schedule: unit is set; set it in the schedule that holds the chain\n"
      "s.chained.part[0].schedule.constant: factor is 2; must be 0 to 1\n"
      "s.chained.part[1].schedule: its rate follows from a metric, so it cannot be part of a "
      "chain\n"
      "s.chained.part[2]: length is set; the last part has none, since it does not end\n"
      "s.chained.part[2].schedule: has no kind; set one of constant, linear_warmup, step, "
      "multi_step, exponential, cosine, polynomial, inverse_square_root, myle, tri_stage, chained, "
      "reduce_on_plateau, custom");
}

}  // namespace
}  // namespace millrace
