#include "io/format/delimiter_hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(DelimiterHintTest, NamesTheMostFrequent) {
  EXPECT_EQ(
      delimiter_hint("user;item;first label"),
      "; the line has \";\" 2 times: if it separates the cells, set csv { delimiter: \";\" }");
  EXPECT_THAT(delimiter_hint("label\tuser"), HasSubstr("csv { delimiter: \"\\t\" }"));
  EXPECT_THAT(delimiter_hint("label|user"), HasSubstr("\"|\" 1 time:"));
}

TEST(DelimiterHintTest, SettingsAreWrittenAsInAConfiguration) {
  EXPECT_EQ(delimiter_setting(';'), "csv { delimiter: \";\" }");
  EXPECT_EQ(quoted_delimiter('\t'), "\"\\t\"");
  EXPECT_EQ(quoted_delimiter('\x01'), "\"\\001\"");
}

TEST(DelimiterHintTest, NoneForOneCell) {
  EXPECT_EQ(delimiter_hint(""), "");
  EXPECT_EQ(delimiter_hint("label"), "");
}

TEST(DelimiterHintTest, NamesWhatFollowsAQuote) {
  EXPECT_EQ(delimiter_hint_behind_quote(";\"item\""),
            "; if \";\" separates the cells, set csv { delimiter: \";\" }");
  EXPECT_THAT(delimiter_hint_behind_quote("\t7"), HasSubstr("csv { delimiter: \"\\t\" }"));
  for (const char* text : {"", "x;", " pipe"}) EXPECT_EQ(delimiter_hint_behind_quote(text), "");
}

}  // namespace
}  // namespace millrace
