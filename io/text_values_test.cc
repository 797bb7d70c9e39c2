#include "io/text_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace millrace {
namespace {

TEST(CellNumberTest, NumbersAndBooleans) {
  double number = 7;
  EXPECT_TRUE(parse_cell_number("-2.5e3", &number));
  EXPECT_EQ(number, -2500);
  EXPECT_TRUE(parse_cell_number("TRUE", &number));
  EXPECT_EQ(number, 1);
  EXPECT_TRUE(parse_cell_number("1234567", &number));
  EXPECT_EQ(number, 1234567);
  EXPECT_TRUE(parse_cell_number("nan", &number));
  EXPECT_TRUE(std::isnan(number));
  int64_t integer = 7;
  EXPECT_TRUE(parse_cell_number("-9223372036854775808", &integer));
  EXPECT_EQ(integer, std::numeric_limits<int64_t>::min());
  EXPECT_TRUE(parse_cell_number("true", &integer));
  EXPECT_EQ(integer, 1);
  EXPECT_TRUE(parse_cell_number("False", &integer));
  EXPECT_EQ(integer, 0);
}

TEST(CellNumberTest, OtherTextIsZero) {
  for (const char* text : {"", " 7", "7 ", "+7", "7x", "0x7", "tRUE", "9223372036854775808x"}) {
    double number = 7;
    EXPECT_FALSE(parse_cell_number(text, &number)) << text;
    EXPECT_EQ(number, 0);
    int64_t integer = 7;
    EXPECT_FALSE(parse_cell_number(text, &integer)) << text;
    EXPECT_EQ(integer, 0);
  }
  int64_t integer = 7;
  EXPECT_FALSE(parse_cell_number("7.0", &integer));
  EXPECT_FALSE(parse_cell_number(absl::string_view(), &integer));
}

TEST(CellNumberTest, ListsOfWholeNumbersHaveADelimiter) {
  EXPECT_EQ(list_delimiter_of("470|1|-2|3"), '|');
  EXPECT_EQ(list_delimiter_of("1;2"), ';');
  EXPECT_EQ(list_delimiter_of("99999999999999999999 2"), ' ');
  for (const char* text : {"", "470", "|", "1|", "1||2", "1|2;3", "1|a", "1,5", "a b", "1.5|2"}) {
    EXPECT_EQ(list_delimiter_of(text), 0) << text;
  }
}

TEST(CellNumberTest, LongTexts) {
  for (const size_t zeros : {40, 55, 56, 57, 200}) {
    double number = 7;
    EXPECT_TRUE(parse_cell_number("1." + std::string(zeros, '0') + "5", &number)) << zeros;
    EXPECT_EQ(number, 1);
    EXPECT_FALSE(parse_cell_number(std::string(zeros, '1') + "x", &number)) << zeros;
  }
}

TEST(BooleanTextTest, ThreeSpellingsOfEach) {
  for (const char* text : {"True", "true", "TRUE"}) EXPECT_EQ(parse_boolean(text), true) << text;
  for (const char* text : {"False", "false", "FALSE"}) {
    EXPECT_EQ(parse_boolean(text), false) << text;
  }
  for (const char* text : {"", "T", "yes", "tRUE", "true ", "1", "0", "trueish"}) {
    EXPECT_EQ(parse_boolean(text), std::nullopt) << text;
  }
}

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
