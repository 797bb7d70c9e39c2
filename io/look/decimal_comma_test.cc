#include "io/look/decimal_comma.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

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

}  // namespace
}  // namespace millrace
