#include "base/lines/line_text.h"

#include <gtest/gtest.h>

#include <cmath>

namespace millrace {
namespace {

TEST(CsvFieldTest, QuotesWhereNeeded) {
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("a b"), "a b");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
  EXPECT_EQ(csv_field("a \"b\"\n"), "\"a \"\"b\"\"\n\"");
}

TEST(JsonLineTest, KeepsTheOrderOfKeys) {
  EXPECT_EQ(json_line({{"b", 1}, {"a", {true, nullptr, 0.5}}}), "{\"b\":1,\"a\":[true,null,0.5]}");
}

TEST(JsonLineTest, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(json_line("größe\n\"a\""), "\"größe\\n\\\"a\\\"\"");
  EXPECT_EQ(json_line("a\xff."), "\"a\xEF\xBF\xBD.\"");
}

TEST(JsonLineTest, NumbersWithoutAFormAreNull) {
  EXPECT_EQ(json_line({NAN, -INFINITY}), "[null,null]");
}

}  // namespace
}  // namespace millrace
