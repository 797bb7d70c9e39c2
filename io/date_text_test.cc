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

}  // namespace
}  // namespace millrace
