#include "io/look/cell_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

TEST(MissingText, HasTheTextsOfPandas) {
  for (const char* text : {"#N/A",   "#N/A N/A", "#NA",  "-1.#IND", "-1.#QNAN", "-NaN", "-nan",
                           "1.#IND", "1.#QNAN",  "<NA>", "N/A",     "NA",       "NULL", "NaN",
                           "None",   "n/a",      "nan",  "null",    "\\N",      "NAN",  "+nan"}) {
    EXPECT_TRUE(is_missing_text(text)) << text;
  }
  for (const char* text :
       {"", "0", "-", "?", "na", "none", "NAN1", "nano", "unknown", "NA NA NA"}) {
    EXPECT_FALSE(is_missing_text(text)) << text;
  }
}

TEST(MissingText, PlainOnesAreMissing) {
  EXPECT_THAT(plain_missing_texts(), Contains("NA"));
  for (const absl::string_view text : plain_missing_texts()) {
    EXPECT_TRUE(is_missing_text(text)) << text;
  }
}

TEST(MissingText, NotANumberInAnyCase) {
  EXPECT_TRUE(is_nan_text("nAn"));
  EXPECT_TRUE(is_nan_text("-NaN"));
  EXPECT_FALSE(is_nan_text("--nan"));
  EXPECT_FALSE(is_nan_text("NA"));
  EXPECT_FALSE(is_nan_text(""));
}

TEST(DecimalComma, IsFound) {
  bool has_comma = false;
  for (const char* text : {"1,5", "-1,5", "1.234,50", "12.345.678,9"}) {
    EXPECT_TRUE(parse_with_comma(text, &has_comma)) << text;
    EXPECT_TRUE(has_comma) << text;
  }
  for (const char* text : {"12", "-7", "1.234"}) {
    EXPECT_TRUE(parse_with_comma(text, &has_comma)) << text;
    EXPECT_FALSE(has_comma) << text;
  }
}

TEST(DecimalComma, OtherTextHasNone) {
  bool has_comma = false;
  for (const char* text : {"", "-", ",5", "1,", "1,5,2", "1,5x", "1.5", "1e3", "a"}) {
    EXPECT_FALSE(parse_with_comma(text, &has_comma)) << text;
  }
}

TEST(OddCells, NumbersWithPercentSignsAndThousandsAreNear) {
  for (const char* text : {"12.3%", "-5 %", "1,234", "1,234.5", "-12,345,678", "1,000%", "12 450",
                           "1 234.5", "-1 234 567"}) {
    EXPECT_TRUE(is_near_number(text)) << text;
  }
  for (const char* text :
       {"", "%", "12", "a%", "1,23", "1234,567", ",123", "1,234,", "1,2345", "1,,234", "1.5,000",
        "1,234.5.6", "$5", "-", "1 23", "1234 567", "1 234,567", "1 2345"}) {
    EXPECT_FALSE(is_near_number(text)) << text;
  }
}

TEST(OddCells, KeepsAFewExamples) {
  OddCells cells;
  EXPECT_FALSE(cells.are_few(100));
  for (const char* text : {"oops", "oops", "?", "x", "y"}) cells.add(text);
  EXPECT_EQ(cells.count(), 5);
  EXPECT_THAT(cells.texts(), ElementsAre("oops", "?", "x"));
  EXPECT_TRUE(cells.are_few(50));
  EXPECT_FALSE(cells.are_few(49)) << "more than a tenth";
  EXPECT_EQ(cells.near_number(), "");
  OddCells large;
  large.add(std::string(1 << 20, 'x'));
  EXPECT_EQ(large.texts()[0].size(), 40);
}

TEST(OddCells, CodesWithLeadingZerosAreNoMistakes) {
  EXPECT_TRUE(has_leading_zero("007"));
  EXPECT_TRUE(has_leading_zero("-01"));
  EXPECT_FALSE(has_leading_zero("0.5"));
  EXPECT_FALSE(has_leading_zero("0"));
  OddCells cells;
  cells.add("oops");
  cells.add("01234");
  EXPECT_FALSE(cells.are_few(1000));
}

TEST(OddCells, FindsColumnsOfNearNumbers) {
  OddCells cells;
  EXPECT_EQ(cells.near_number(), "");
  cells.add("12.3%");
  cells.add("1,234.5");
  EXPECT_EQ(cells.near_number(), "12.3%");
  cells.add("oops");
  EXPECT_EQ(cells.near_number(), "");
}

}  // namespace
}  // namespace millrace
