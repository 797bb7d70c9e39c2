#include "io/date_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(DateTextTest, DatesAndMonthsAreNumbersInTheirOrder) {
  EXPECT_EQ(parse_date("2024-01-05"), 20240105);
  EXPECT_EQ(parse_date("1999-12-31"), 19991231);
  EXPECT_EQ(parse_date("2024-01"), 202401);
  for (const char* text :
       {"", "2024", "20240105", "2024-13-01", "2024-00-10", "2024-01-00", "2024-01-32", "2024-00",
        "2024/01/05", "2024-1-05", "2024-01-05T", "2024-01-05 10:00", "abcd-ef-gh", "24-01-2005"}) {
    EXPECT_EQ(parse_date(text), std::nullopt) << text;
  }
}

TEST(DateTextTest, NumbersOfDates) {
  for (const int64_t date : {19000101, 20240105, 21001231}) EXPECT_TRUE(is_date_number(date));
  for (const int64_t other : {0, 20240, 18991231, 20241301, 20240100, 20240132, 21010101}) {
    EXPECT_FALSE(is_date_number(other)) << other;
  }
}

TEST(DateTextTest, ATimeOfTheDayMayFollow) {
  for (const char* text : {"2024-01-05", "2024-01-05 10:00", "2024-01-05T10:00:00Z"}) {
    EXPECT_TRUE(begins_with_date(text)) << text;
  }
  for (const char* text : {"", "2024-01", "2024-01-05x", "2024-13-05 10:00", "20240105"}) {
    EXPECT_FALSE(begins_with_date(text)) << text;
  }
}

TEST(DateTextTest, DigitsOfDates) {
  for (const int64_t day : {20240105, 20240132, 19000000}) EXPECT_EQ(date_digits(day), 8);
  for (const int64_t month : {202401, 202413, 210099}) EXPECT_EQ(date_digits(month), 6);
  for (const int64_t year : {1900, 2100}) EXPECT_EQ(date_digits(year), 4);
  for (const int64_t other : {0, 1899, 2101, 20240, -2024, 1700000000}) {
    EXPECT_EQ(date_digits(other), 0) << other;
  }
}

}  // namespace
}  // namespace millrace
