#include "optim/schedule/warmup.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(WarmupTest, RisesLinearlyToOne) {
  const Warmup warmup(0.5, 4);
  EXPECT_EQ(warmup.length(), 4);
  EXPECT_EQ(warmup.factor(0), 0.5);
  EXPECT_EQ(warmup.factor(1), 0.625);
  EXPECT_EQ(warmup.factor(4), 1);
  EXPECT_EQ(warmup.factor(5), 1);
}

TEST(WarmupTest, NoWarmupIsOneThroughout) {
  EXPECT_EQ(Warmup().factor(0), 1);
  EXPECT_EQ(Warmup(ScheduleWarmup(), ScheduleScope()).factor(0), 1);
  EXPECT_EQ(Warmup(0.5, 0).factor(0), 1);
}

TEST(WarmupTest, MustLeaveOneUnitOfTheSchedule) {
  const auto errors_of = [](double length, std::optional<double> limit) {
    ScheduleWarmup config;
    config.mutable_length()->set_count(length);
    FieldErrors errors;
    Warmup::check_within("w", config, limit, ScheduleScope(), &errors);
    return std::string(errors.status().message());
  };
  EXPECT_EQ(errors_of(9, 10), "");
  EXPECT_EQ(errors_of(10, std::nullopt), "") << "the length of the schedule has an error already";
  EXPECT_EQ(errors_of(9.5, 10),
            "w: its length is 9.5; must be at most 9, one less than the schedule with its "
            "warm-up");
  EXPECT_EQ(errors_of(-1, 10), "w.length: count is -1; must be at least 0 and finite");
}

TEST(WarmupTest, MustEndInTraining) {
  ScheduleScope scope;
  scope.totals.steps = 10;
  const auto errors_of = [&](double length) {
    ScheduleWarmup config;
    config.mutable_length()->set_count(length);
    FieldErrors errors;
    Warmup::check("w", config, 0, scope, &errors);
    return std::string(errors.status().message());
  };
  EXPECT_EQ(errors_of(10), "");
  EXPECT_EQ(errors_of(11),
            "w.length: the warm-up of 11 steps does not end in training, which has 10; shorten it "
            "or raise max_steps");
}

}  // namespace
}  // namespace millrace
