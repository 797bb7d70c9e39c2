#include "io/format/csv_check.h"

#include <google/protobuf/text_format.h>

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

}  // namespace
}  // namespace millrace
