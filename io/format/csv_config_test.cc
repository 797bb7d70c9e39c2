#include "io/format/csv_config.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

absl::Status check(const std::string& text) {
  CsvConfig csv;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &csv)) << text;
  return check_csv("d.csv", csv);
}

TEST(CsvCheckTest, Delimiters) {
  EXPECT_OK(check(""));
  EXPECT_OK(check("delimiter: '\\t' list_delimiter: ';' column: 'a' column: 'b'"));
  EXPECT_THAT(check("delimiter: ''"),
              StatusIs(kInvalid, "d.csv: delimiter is \"\"; must be one character"));
  EXPECT_THAT(
      check("list_delimiter: '::'"),
      StatusIs(kInvalid, "d.csv: list_delimiter is \"::\"; must be one character, or empty"));
  EXPECT_OK(check("delimiter: ',' list_delimiter: ','")) << "for lists in quoted cells";
  EXPECT_THAT(check("delimiter: ',' list_delimiter: ',' literal_quotes: true"),
              StatusIs(kInvalid,
                       "d.csv: list_delimiter is \",\", as delimiter is; with literal_quotes they "
                       "must differ"));
  for (const char* text : {"delimiter: '\\n'", "delimiter: '\"'", "list_delimiter: '\\r'"}) {
    EXPECT_THAT(
        check(text),
        StatusIs(
            kInvalid,
            "d.csv: a delimiter must be one character, and neither a quote nor the end of a line"))
        << text;
  }
}

TEST(CsvCheckTest, Columns) {
  EXPECT_THAT(check("column: 'a' column: ''"), StatusIs(kInvalid, "d.csv.column[1]: is empty"));
  EXPECT_THAT(check("column: 'a' column: 'a'"),
              StatusIs(kInvalid, "d.csv.column[1] \"a\": the name is taken by an entry before it"));
}

TEST(CsvCheckTest, ATypedHeaderSaysItAll) {
  EXPECT_THAT(check("header: TYPED list_delimiter: ';'"), StatusIs(kInvalid));
  EXPECT_THAT(check("header: TYPED hexadecimal: 'a'"), StatusIs(kInvalid));
}

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
