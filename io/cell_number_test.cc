#include "io/cell_number.h"

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

}  // namespace
}  // namespace millrace
