#include "io/format/text_lines.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TextLinesTest : public testing::Test {
 protected:
  std::unique_ptr<ReadableFile> file(const std::string& text) {
    EXPECT_OK(write_file_atomically(files_, "/text", text));
    auto opened = files_.open("/text");
    EXPECT_OK(opened);
    return *std::move(opened);
  }
  LineIndex index(const std::string& text, bool with_header) {
    return index(text, {.with_header = with_header});
  }
  LineIndex index(const std::string& text, const LineIndexOptions& options) {
    const auto index = index_lines(*file(text), options);
    EXPECT_OK(index);
    return *index;
  }
  MemoryFileSystem files_;
};

TEST_F(TextLinesTest, RowsAreLinesThatAreNotBlank) {
  const LineIndex lines = index("\r\n\na\r\nb\n\r\r\nc", false);
  EXPECT_EQ(lines.header.rows, 0);
  EXPECT_THAT(lines.groups,
              ElementsAre(LineGroup{.begin = 0, .end = 12, .rows = 3, .first_line = 1}));
  EXPECT_TRUE(index("", false).groups.empty());
  EXPECT_TRUE(index("\n\r\n", false).groups.empty());
}

TEST_F(TextLinesTest, TheHeaderIsALineOfItsOwn) {
  const LineIndex lines = index("\nnames\nx\ny\n", true);
  EXPECT_EQ(lines.header, (LineGroup{.begin = 0, .end = 7, .rows = 1, .first_line = 1}));
  EXPECT_THAT(lines.groups,
              ElementsAre(LineGroup{.begin = 7, .end = 11, .rows = 2, .first_line = 3}));
  EXPECT_EQ(index("names", true).header.rows, 1);
  EXPECT_EQ(index("\n\n", true).header.rows, 0);
}

TEST_F(TextLinesTest, GroupsEndAfterRowsOrBytes) {
  std::string text;
  for (int i = 0; i < 20000; ++i) absl::StrAppend(&text, i % 10, "\n");
  const LineIndex rows = index(text, false);
  EXPECT_THAT(rows.groups, ElementsAre(LineGroup{.begin = 0, .end = 32768, .rows = 16384},
                                       LineGroup{.begin = 32768,
                                                 .end = 40000,
                                                 .first_row = 16384,
                                                 .rows = 3616,
                                                 .first_line = 16385}));
  const LineIndex bytes = index(std::string(9 << 20, 'x') + "\ny\n", false);
  ASSERT_EQ(bytes.groups.size(), 2u);
  EXPECT_EQ(bytes.groups[1].begin, (9 << 20) + 1);
  EXPECT_EQ(bytes.groups[1].first_line, 2);
}

TEST_F(TextLinesTest, LinesBeyondTheLimitAreRefusedByNumber) {
  const std::string longest(kMaxLineBytes - 1, 'x');
  EXPECT_EQ(index("a\n" + longest + "\nb\n", false).groups.size(), 2u);
  EXPECT_THAT(index_lines(*file("a\n" + longest + "yy\n"), {}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line 2: more than 16777216 bytes")));
}

TEST_F(TextLinesTest, LineFeedsInQuotedCellsEndNoRow) {
  const LineIndexOptions quoted = {.with_header = true, .quoted_delimiter = ','};
  const LineIndex lines = index("\n\"na\nme\",b\n\"1\n\",\n\n\"\"\"\n\",2\n", quoted);
  EXPECT_EQ(lines.header,
            (LineGroup{.begin = 0, .end = 11, .rows = 1, .first_line = 1, .quoted = true}));
  EXPECT_THAT(
      lines.groups,
      ElementsAre(LineGroup{.begin = 11, .end = 26, .rows = 2, .first_line = 4, .quoted = true}));
}

TEST_F(TextLinesTest, OnlyGroupsWithAQuotedCellAreQuoted) {
  const LineIndexOptions quoted = {.quoted_delimiter = ',', .group_rows = 1};
  const LineIndex lines = index("a,b\"\nc,\"d\ne\"\n\"\"\n,\n", quoted);
  ASSERT_EQ(lines.groups.size(), 4u);
  EXPECT_FALSE(lines.groups[0].quoted);
  EXPECT_TRUE(lines.groups[1].quoted);
  EXPECT_EQ(lines.groups[1].rows, 1);
  EXPECT_TRUE(lines.groups[2].quoted) << "a row of one missing value";
  EXPECT_FALSE(lines.groups[3].quoted);
  EXPECT_EQ(lines.groups[3].first_line, 5);
}

TEST_F(TextLinesTest, ACellWithoutAnEndIsNamedByTheLineWhereItBegins) {
  const LineIndexOptions quoted = {.quoted_delimiter = ','};
  EXPECT_THAT(index_lines(*file("a\n\"b\nc\",\"d\"\"\ne\n"), quoted),
              StatusIs(absl::StatusCode::kDataLoss,
                       "line 3: the quoted cell that begins here does not end; set csv { "
                       "literal_quotes: true } if quotes are characters like others"));
  EXPECT_OK(index_lines(*file("a\n\"b\nc\",\"d\"\"\ne\n"), {}));
  EXPECT_THAT(index_lines(*file("a\n\"" + std::string(100 << 20, '\n')), quoted),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("line 2: the quoted cell that begins here does not end within "
                                 "16777216 bytes; set csv")));
  EXPECT_THAT(index_lines(*file("\"a\n\"\n\"b\n\"," + std::string(kMaxLineBytes, 'x')), quoted),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line 3: more than 16777216 bytes")));
}

// The groups of one row each, byte by byte. Returns: none if a quoted cell has no end.
std::vector<LineGroup> rows_by_the_rule(const std::string& text) {
  std::vector<LineGroup> rows;
  LineGroup row;
  bool in_quotes = false, is_blank = true, cell_begins = true;
  int64_t line = 1;
  for (int64_t i = 0; i < static_cast<int64_t>(text.size()); ++i) {
    const char c = text[i];
    line += c == '\n';
    is_blank = is_blank && (c == '\r' || c == '\n');
    if (in_quotes) {
      if (c != '"') continue;
      if (text[i + 1] == '"') {
        ++i;
      } else {
        in_quotes = false;
      }
    } else if (c == '"' && cell_begins) {
      in_quotes = row.quoted = true;
      cell_begins = false;
    } else {
      cell_begins = c == ',' || c == '\n';
    }
    if (in_quotes || c != '\n') continue;
    row.end = i + 1;
    if (!std::exchange(is_blank, true)) {
      row.rows = 1;
      rows.push_back(row);
      row = {.begin = i + 1, .first_row = static_cast<int64_t>(rows.size()), .first_line = line};
    }
  }
  return in_quotes ? std::vector<LineGroup>() : rows;
}

TEST_F(TextLinesTest, RandomTextInReadsOfAllSizes) {
  int64_t texts = 0;
  for (uint64_t trial = 0; trial < 5000; ++trial) {
    constexpr absl::string_view kBytes = "\"\"\",,\n\n\rab";
    std::string text;
    for (uint64_t i = 0; i < philox64(1, 0, trial) % 40; ++i) {
      text += kBytes[philox64(2, trial, i) % kBytes.size()];
    }
    text += '\n';
    const std::vector<LineGroup> expected = rows_by_the_rule(text);
    if (expected.empty()) continue;
    ++texts;
    for (int64_t bytes = 1; bytes <= static_cast<int64_t>(text.size()); ++bytes) {
      const LineIndexOptions options = {
          .quoted_delimiter = ',', .group_rows = 1, .read_bytes = bytes};
      ASSERT_EQ(index(text, options).groups, expected)
          << testing::PrintToString(text) << " in reads of " << bytes;
    }
  }
  EXPECT_GT(texts, 1000);
}

TEST_F(TextLinesTest, BufferHoldsTheGroupAndALineFeed) {
  const auto text = file("ab\ncd");
  LineBuffer buffer;
  ASSERT_OK(buffer.read(*text, {.begin = 3, .end = 5}));
  EXPECT_EQ(std::string(buffer.data(), buffer.size()), "cd\n");
  ASSERT_OK(buffer.read(*text, {.begin = 0, .end = 3}));
  EXPECT_EQ(std::string(buffer.data(), buffer.size()), "ab\n");
  EXPECT_THAT(buffer.read(*text, {.begin = 3, .end = 9}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("became shorter")));
}

}  // namespace
}  // namespace millrace
