#include "base/lines/csv_field.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(CsvFieldTest, QuotesWhereNeeded) {
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a b"), "a b");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
  EXPECT_EQ(csv_field("a \"b\"\n"), "\"a \"\"b\"\"\n\"");
}

}  // namespace
}  // namespace millrace
