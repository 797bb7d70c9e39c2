#include "optim/schedule/schedule_length.h"

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

ScheduleScope scope(ScheduleConfig::Unit unit) {
  ScheduleScope scope;
  scope.unit = unit;
  scope.totals.epochs = 10;
  return scope;
}

// Returns the errors of a length of at least 1.
std::string errors_of(const ScheduleLength& length, ScheduleConfig::Unit unit) {
  FieldErrors errors;
  EXPECT_FALSE(check_length("s", "length", length, 1, scope(unit), &errors).has_value());
  EXPECT_EQ(errors.all().size(), 1);
  return std::string(errors.status().message());
}

TEST(ScheduleLengthTest, CountIsTheLength) {
  FieldErrors errors;
  EXPECT_EQ(check_length("s", "length", count(7), 1, scope(ScheduleConfig::STEPS), &errors), 7);
  EXPECT_EQ(check_length("s", "length", count(0), 0, scope(ScheduleConfig::STEPS), &errors), 0);
  EXPECT_EQ(length_of(count(7), scope(ScheduleConfig::STEPS)), 7);
  EXPECT_OK(errors.status());
}

TEST(ScheduleLengthTest, ShareIsOfTheTotalInTheUnit) {
  FieldErrors errors;
  const ScheduleScope epochs = scope(ScheduleConfig::EPOCHS);
  EXPECT_EQ(check_length("s", "length", share(0.25), 1, epochs, &errors), 2.5);
  EXPECT_EQ(check_length("s", "length", share(1), 1, epochs, &errors), 10);
  EXPECT_EQ(length_of(share(0.7), epochs), 7) << "and not 7.000000000000001";
  EXPECT_OK(errors.status());
}

TEST(ScheduleLengthTest, ShareOfAnUnknownTotalSaysWhatToSet) {
  EXPECT_FALSE(length_of(share(0.5), scope(ScheduleConfig::STEPS)).has_value());
  EXPECT_EQ(errors_of(share(0.5), ScheduleConfig::STEPS),
            "s.length: share needs the total of steps of training, which is not known; set "
            "max_steps or use count; or, as max_epochs is 10, set unit: EPOCHS in the message "
            "schedule around it, as in schedule { unit: EPOCHS ... }");
  EXPECT_THAT(errors_of(share(0.5), ScheduleConfig::WINDOWS), HasSubstr("set max_windows or"));
  EXPECT_THAT(errors_of(share(0.5), ScheduleConfig::EXAMPLES),
              HasSubstr("the total of examples of training, which is not known; use count, or "
                        "another unit"));
}

TEST(ScheduleLengthTest, RefusesWhatIsNoLength) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(errors_of(ScheduleLength(), ScheduleConfig::STEPS),
            "s.length: is missing; set count or share");
  EXPECT_THAT(errors_of(count(-1), ScheduleConfig::STEPS), HasSubstr("count is -1"));
  EXPECT_THAT(errors_of(count(nan), ScheduleConfig::STEPS), HasSubstr("count is nan"));
  EXPECT_EQ(errors_of(count(0.5), ScheduleConfig::STEPS),
            "s.length: count is 0.5; must be at least 1");
  EXPECT_THAT(errors_of(share(0), ScheduleConfig::EPOCHS), HasSubstr("share is 0"));
  EXPECT_THAT(errors_of(share(1.5), ScheduleConfig::EPOCHS), HasSubstr("share is 1.5"));
  EXPECT_THAT(errors_of(share(nan), ScheduleConfig::EPOCHS), HasSubstr("share is nan"));
  EXPECT_EQ(errors_of(share(0.05), ScheduleConfig::EPOCHS),
            "s.length: share 0.05 of 10 epochs is 0.5; must be at least 1");
}

TEST(ScheduleLengthTest, SnapsRoundingErrorsAlone) {
  EXPECT_EQ(snap_to_whole(7.000000000000001), 7);
  EXPECT_EQ(snap_to_whole(6.999999999999999), 7);
  EXPECT_EQ(snap_to_whole(6.5), 6.5);
  EXPECT_EQ(snap_to_whole(1e-6), 1e-6);
  EXPECT_EQ(snap_to_whole(std::numeric_limits<double>::infinity()),
            std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace millrace
