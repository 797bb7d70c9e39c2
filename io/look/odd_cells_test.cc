#include "io/look/odd_cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace millrace {
namespace {

using ::testing::ElementsAre;

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
