#include "io/boolean_text.h"

#include <gtest/gtest.h>

namespace millrace {
namespace {

TEST(BooleanTextTest, ThreeSpellingsOfEach) {
  for (const char* text : {"True", "true", "TRUE"}) EXPECT_EQ(parse_boolean(text), true) << text;
  for (const char* text : {"False", "false", "FALSE"}) {
    EXPECT_EQ(parse_boolean(text), false) << text;
  }
  for (const char* text : {"", "T", "yes", "tRUE", "true ", "1", "0", "trueish"}) {
    EXPECT_EQ(parse_boolean(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace millrace
