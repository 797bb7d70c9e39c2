#include "io/time_type.h"

#include <gtest/gtest.h>

#include <limits>

namespace millrace {
namespace {

using Kind = TimeType::Kind;

TEST(TimeTypeTest, NamesOfArrow) {
  const struct {
    const char* name;
    TimeType type;
  } cases[] = {{"timestamp[ms]", {Kind::kLocal, 1'000'000}},
               {"timestamp[us, tz=UTC]", {Kind::kInstant, 1'000}},
               {"list<element: timestamp[s]>", {Kind::kLocal, 1'000'000'000}},
               {"date32[day]", {Kind::kDate, 86'400'000'000'000}},
               {"date64[ms]", {Kind::kDate, 1'000'000}},
               {"time64[ns]", {Kind::kTimeOfDay, 1}},
               {"int64", {}},
               {"timestamp[parsec]", {}}};
  for (const auto& [name, type] : cases) EXPECT_EQ(parse_time_type(name), type) << name;
}

TEST(TimeTypeTest, ZonesAndTimesOfTheDayDoNotMix) {
  const auto fit = [](const char* a, const char* b) {
    return have_one_meaning(parse_time_type(a), parse_time_type(b));
  };
  EXPECT_TRUE(fit("timestamp[ms]", "timestamp[ns]"));
  EXPECT_TRUE(fit("timestamp[ms, tz=UTC]", "timestamp[ns, tz=Europe/Paris]"));
  EXPECT_TRUE(fit("date32[day]", "timestamp[ms, tz=UTC]"));
  EXPECT_TRUE(fit("int64", "time32[s]"));
  EXPECT_FALSE(fit("timestamp[ms]", "timestamp[ms, tz=UTC]"));
  EXPECT_FALSE(fit("time32[s]", "timestamp[ms]"));
}

TEST(TimeTypeTest, ConvertsDownwards) {
  const TimeType days = parse_time_type("date32[day]"), ms = parse_time_type("timestamp[ms]");
  int64_t value = 2;
  EXPECT_TRUE(convert_time(days, ms, &value));
  EXPECT_EQ(value, 2 * 86'400'000);
  value = -1;
  EXPECT_TRUE(convert_time(ms, days, &value));
  EXPECT_EQ(value, -1) << "the day before 1970-01-01";
  value = std::numeric_limits<int64_t>::max() / 1000;
  EXPECT_FALSE(convert_time(days, ms, &value));
}

}  // namespace
}  // namespace millrace
