#include "optim/schedule/schedule_fields.h"

#include <limits>
#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

ScheduleLength count(double value) {
  ScheduleLength length;
  length.set_count(value);
  return length;
}

ScheduleLength share(double value) {
  ScheduleLength length;
  length.set_share(value);
  return length;
}

ScheduleInput input(ScheduleConfig::Unit unit) {
  ScheduleInput input;
  input.unit = unit;
  input.totals.epochs = 10;
  return input;
}

// Returns the errors of a length of at least 1.
std::string errors_of(const ScheduleLength& length, ScheduleConfig::Unit unit) {
  FieldErrors errors;
  EXPECT_FALSE(check_length("s", "length", length, 1, input(unit), &errors).has_value());
  EXPECT_EQ(errors.all().size(), 1);
  return std::string(errors.status().message());
}

TEST(ScheduleFieldsTest, CountIsTheLength) {
  FieldErrors errors;
  EXPECT_EQ(check_length("s", "length", count(7), 1, input(ScheduleConfig::STEPS), &errors), 7);
  EXPECT_EQ(check_length("s", "length", count(0), 0, input(ScheduleConfig::STEPS), &errors), 0);
  EXPECT_EQ(length_of(count(7), input(ScheduleConfig::STEPS)), 7);
  EXPECT_OK(errors.status());
}

TEST(ScheduleFieldsTest, ShareIsOfTheTotalInTheUnit) {
  FieldErrors errors;
  const ScheduleInput epochs = input(ScheduleConfig::EPOCHS);
  EXPECT_EQ(check_length("s", "length", share(0.25), 1, epochs, &errors), 2.5);
  EXPECT_EQ(check_length("s", "length", share(1), 1, epochs, &errors), 10);
  EXPECT_EQ(length_of(share(0.7), epochs), 7) << "and not 7.000000000000001";
  EXPECT_OK(errors.status());
}

TEST(ScheduleFieldsTest, ShareOfAnUnknownTotalSaysWhatToSet) {
  EXPECT_FALSE(length_of(share(0.5), input(ScheduleConfig::STEPS)).has_value());
  EXPECT_EQ(errors_of(share(0.5), ScheduleConfig::STEPS),
            "s.length: share needs the total of steps of training, which is not known; set "
            "max_steps or use count; or, as max_epochs is 10, set unit: EPOCHS in the message "
            "schedule around it, as in schedule { unit: EPOCHS ... }");
  EXPECT_THAT(errors_of(share(0.5), ScheduleConfig::WINDOWS), HasSubstr("set max_windows or"));
  EXPECT_THAT(errors_of(share(0.5), ScheduleConfig::EXAMPLES),
              HasSubstr("the total of examples of training, which is not known; use count, or "
                        "another unit"));
}

TEST(ScheduleFieldsTest, RefusesWhatIsNoLength) {
  EXPECT_EQ(errors_of(ScheduleLength(), ScheduleConfig::STEPS),
            "s.length: is missing; set count or share");
  EXPECT_EQ(errors_of(count(0.5), ScheduleConfig::STEPS),
            "s.length: count is 0.5; must be at least 1");
  EXPECT_EQ(errors_of(share(0.05), ScheduleConfig::EPOCHS),
            "s.length: share 0.05 of 10 epochs is 0.5; must be at least 1");
}

TEST(ScheduleFieldsTest, ANumberOutOfRangeIsNoLengthAndReportedElsewhere) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const ScheduleLength& length : {count(-1), count(nan), share(0), share(1.5), share(nan)}) {
    FieldErrors errors;
    const ScheduleInput steps = input(ScheduleConfig::STEPS);
    EXPECT_FALSE(check_length("s", "length", length, 1, steps, &errors).has_value());
    EXPECT_FALSE(length_of(length, steps).has_value());
    EXPECT_OK(errors.status()) << "check_ranges() reports it";
  }
}

TEST(ScheduleFieldsTest, SnapsRoundingErrorsAlone) {
  EXPECT_EQ(snap_to_whole(7.000000000000001), 7);
  EXPECT_EQ(snap_to_whole(6.999999999999999), 7);
  EXPECT_EQ(snap_to_whole(6.5), 6.5);
  EXPECT_EQ(snap_to_whole(1e-6), 1e-6);
  EXPECT_EQ(snap_to_whole(std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
}

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
  EXPECT_EQ(Warmup(ScheduleWarmup(), ScheduleInput()).factor(0), 1);
  EXPECT_EQ(Warmup(0.5, 0).factor(0), 1);
}

TEST(WarmupTest, MustLeaveOneUnitOfTheSchedule) {
  const auto errors_of = [](double length, std::optional<double> limit) {
    ScheduleWarmup config;
    config.mutable_length()->set_count(length);
    FieldErrors errors;
    Warmup::check_within("w", config, limit, ScheduleInput(), &errors);
    return std::string(errors.status().message());
  };
  EXPECT_EQ(errors_of(9, 10), "");
  EXPECT_EQ(errors_of(10, std::nullopt), "") << "the length of the schedule has an error already";
  EXPECT_EQ(errors_of(9.5, 10),
            "w: its length is 9.5; must be at most 9, one less than the schedule with its "
            "warm-up");
  EXPECT_EQ(errors_of(-1, 10), "") << "check_ranges() reports it";
}

TEST(WarmupTest, MustEndInTraining) {
  ScheduleInput input;
  input.totals.steps = 10;
  const auto errors_of = [&](double length) {
    ScheduleWarmup config;
    config.mutable_length()->set_count(length);
    FieldErrors errors;
    Warmup::check("w", config, 0, input, &errors);
    return std::string(errors.status().message());
  };
  EXPECT_EQ(errors_of(10), "");
  EXPECT_EQ(errors_of(11),
            "w.length: the warm-up of 11 steps does not end in training, which has 10; shorten it "
            "or raise max_steps");
}

}  // namespace
}  // namespace millrace
