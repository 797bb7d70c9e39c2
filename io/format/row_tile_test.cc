#include "io/format/row_tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/random/philox.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Cells = std::vector<std::string>;

// A row as it is read.
struct Row {
  Cells cells;
  int64_t line = 0;
  friend bool operator==(const Row&, const Row&) = default;
};

std::ostream& operator<<(std::ostream& out, const Row& row) {
  return out << row.line << ": " << testing::PrintToString(row.cells);
}

// Appends the rows of a tile. A carriage return at the end of a row is no part of it.
void append_rows(const RowTile& tile, int64_t first_line, std::vector<Row>* rows) {
  for (int64_t r = 0; r < tile.rows(); ++r) {
    if (tile.is_blank(r)) continue;
    Row& row = rows->emplace_back();
    row.line = first_line + tile.line(r);
    for (int64_t c = 0; c < tile.cells(r); ++c) {
      row.cells.emplace_back(tile.cell(tile.first_cell(r) + c));
    }
    if (!row.cells.back().empty() && row.cells.back().back() == '\r') row.cells.back().pop_back();
  }
}

// All rows of `text`, in tiles of which each is found in at most `window` bytes, or in the row that
// is longer. The text behind a window is noise.
std::vector<Row> read(const std::string& text, bool quoted = true, int64_t window = 1 << 20,
                      char delimiter = ',') {
  RowTile tile(delimiter, 2);
  std::vector<Row> rows;
  int64_t line = 1, bytes = window;
  for (size_t at = 0; at < text.size();) {
    const std::string part = text.substr(at, bytes);
    const std::string padded = part + std::string(kTextPadding + 2, '"');
    if (!tile.find(padded.data(), static_cast<int64_t>(part.size()), quoted)) {
      if (at + bytes >= text.size()) break;
      ++bytes;
      continue;
    }
    append_rows(tile, line, &rows);
    line += tile.source_lines();
    at += tile.source_bytes();
    bytes = window;
  }
  return rows;
}

TEST(RowTileTest, PlainRowsAreNotCopied) {
  const std::string text = "a,b\n\n\r\nc,\r\n" + std::string(kTextPadding, '\0');
  RowTile tile(',', 2);
  ASSERT_TRUE(tile.find(text.data(), 11, true));
  EXPECT_EQ(tile.text(), text.data());
  EXPECT_EQ(tile.rows(), 4);
  EXPECT_TRUE(tile.is_blank(1));
  EXPECT_TRUE(tile.is_blank(2));
  EXPECT_EQ(tile.line(3), 3);
  EXPECT_EQ(tile.source_lines(), 4);
  EXPECT_EQ(tile.source_bytes(), 11);
  EXPECT_FALSE(tile.find(text.data(), 3, true)) << "no whole row";
}

TEST(RowTileTest, QuotedCellsLoseTheirQuotes) {
  EXPECT_THAT(read("\"a\",b\n\"c,d\",\"\"\n\"e\"\"\",\"\"\"f\"\"\"\n"),
              ElementsAre(Row{{"a", "b"}, 1}, Row{{"c,d", ""}, 2}, Row{{"e\"", "\"f\""}, 3}));
  EXPECT_THAT(read("\"a\"\tb\n\"c\td\"\te,f\n", true, 100, '\t'),
              ElementsAre(Row{{"a", "b"}, 1}, Row{{"c\td", "e,f"}, 2}));
}

TEST(RowTileTest, QuotesElsewhereAreText) {
  EXPECT_THAT(read("a\"b\", \"c\"\n5\",\"6\"\n"),
              ElementsAre(Row{{"a\"b\"", " \"c\""}, 1}, Row{{"5\"", "6"}, 2}));
  EXPECT_THAT(read("\"a,b\"\n", false), ElementsAre(Row{{"\"a", "b\""}, 1}))
      << "quotes are literal";
}

TEST(RowTileTest, LineBreaksInQuotedCellsAreTextAndCountAsLines) {
  EXPECT_THAT(read("\"a\nb\",1\n\n\"c\r\n\n\",2\r\nd,3\n"),
              ElementsAre(Row{{"a\nb", "1"}, 1}, Row{{"c\r\n\n", "2"}, 4}, Row{{"d", "3"}, 7}));
}

TEST(RowTileTest, CarriageReturnsBehindAQuotedCellEndTheLine) {
  EXPECT_THAT(read("1,\"a\"\r\n2,\"b\"\r\r\n3,\"c\r\"\n4,\"d\r\"\r\n\"e\r\",\"\"\r\n"),
              ElementsAre(Row{{"1", "a"}, 1}, Row{{"2", "b"}, 2}, Row{{"3", "c\r"}, 3},
                          Row{{"4", "d\r"}, 4}, Row{{"e\r", ""}, 5}));
}

TEST(RowTileTest, AnEmptyQuotedCellIsNoBlankLine) {
  EXPECT_THAT(read("\"\"\n\n\r\n\"\"\r\nx\n"),
              ElementsAre(Row{{""}, 1}, Row{{""}, 4}, Row{{"x"}, 5}));
}

TEST(RowTileTest, TextBehindTheClosingQuoteIsAFault) {
  const std::string text = "1,\"a\"b,\"c\"\n\"d\ne\" ,\"f\"\"\"g\"h\r\n\"i\",j\n\"k\"l";
  const std::string padded = text + std::string(kTextPadding + 3, '"');
  RowTile tile(',', 3);
  ASSERT_TRUE(tile.find(padded.data(), static_cast<int64_t>(text.size()), true));
  std::vector<Row> rows;
  append_rows(tile, 1, &rows);
  EXPECT_THAT(rows, ElementsAre(Row{{"1", "", "c"}, 1}, Row{{"", ""}, 2}, Row{{"i", "j"}, 4}));
  EXPECT_EQ(tile.fault_count(), 3) << "not those of the row without an end";
  EXPECT_EQ(tile.quoted_cells(), 5);
  ASSERT_EQ(tile.faults_of(0).size(), 1u);
  EXPECT_EQ(tile.faults_of(0)[0].cell, 1);
  EXPECT_EQ(tile.faults_of(0)[0].line, 0);
  EXPECT_EQ(tile.faults_of(0)[0].text, "b");
  ASSERT_EQ(tile.faults_of(1).size(), 2u);
  EXPECT_EQ(tile.faults_of(1)[0].line, 2) << "where the quote is";
  EXPECT_EQ(tile.faults_of(1)[0].text, " ");
  EXPECT_EQ(tile.faults_of(1)[1].cell, 4);
  EXPECT_EQ(tile.faults_of(1)[1].text, "g\"h\r");
  EXPECT_THAT(tile.faults_of(2), IsEmpty());
}

TEST(RowTileTest, ACellWithoutAnEndMakesNoRow) {
  EXPECT_THAT(read("a,b\n\"c,d\ne,f\n"), ElementsAre(Row{{"a", "b"}, 1}));
  EXPECT_THAT(read("\"a\"\"\n"), IsEmpty());
}

TEST(RowTileTest, RowsLongerThanATile) {
  const std::string quotes(2 * RowTile::kBytes, '"');  // half as many in the cell
  const std::string lines(RowTile::kBytes, '\n');
  EXPECT_THAT(read(absl::StrCat("1,\"", quotes, "\"\n2,\"", lines, "\"\n3,x\n")),
              ElementsAre(Row{{"1", std::string(RowTile::kBytes, '"')}, 1}, Row{{"2", lines}, 2},
                          Row{{"3", "x"}, 3 + RowTile::kBytes}));
}

// The rule once more, byte by byte. Returns: no rows if a cell has no end or is a fault.
std::optional<std::vector<Row>> by_the_rule(const std::string& text) {
  std::vector<Row> rows = {{{""}, 1}};
  enum { kBegin, kPlain, kQuoted, kClosed } state = kBegin;
  bool is_blank = true;
  int64_t line = 1;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    std::string& cell = rows.back().cells.back();
    line += c == '\n';
    if (state == kQuoted) {
      if (c != '"') {
        cell += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        cell += text[++i];
      } else {
        state = kClosed;
      }
    } else if (c == '\n') {
      if (state != kClosed && !cell.empty() && cell.back() == '\r') cell.pop_back();
      if (is_blank) rows.pop_back();
      rows.push_back({{""}, line});
      state = kBegin;
      is_blank = true;
    } else if (c == ',') {
      if (state == kClosed && text[i - 1] == '\r') return std::nullopt;
      rows.back().cells.emplace_back();
      state = kBegin;
      is_blank = false;
    } else if (state == kClosed) {
      if (c != '\r') return std::nullopt;
    } else if (c == '"' && state == kBegin) {
      state = kQuoted;
      is_blank = false;
    } else {
      cell += c;
      state = kPlain;
      is_blank = is_blank && c == '\r';
    }
  }
  if (state == kQuoted) return std::nullopt;
  rows.pop_back();  // what has no line feed
  return rows;
}

TEST(RowTileTest, RandomTextAsTheRuleSaysInWindowsOfAllSizes) {
  int64_t texts = 0;
  for (uint64_t trial = 0; trial < 20000; ++trial) {
    constexpr absl::string_view kBytes = "\"\"\"\",,\n\n\rab";
    std::string text;
    const uint64_t size = philox64(1, 0, trial) % 40;
    for (uint64_t i = 0; i < size; ++i) {
      text += kBytes[philox64(2, trial, i) % kBytes.size()];
      // Else most quoted cells would be faults.
      if (text.back() == '"' && philox64(3, trial, i) % 2 == 0) text += ',';
    }
    text += '\n';
    const std::optional<std::vector<Row>> expected = by_the_rule(text);
    if (!expected.has_value()) continue;
    ++texts;
    for (int64_t window = 1; window <= static_cast<int64_t>(text.size()); ++window) {
      ASSERT_EQ(read(text, true, window), *expected) << testing::PrintToString(text);
    }
  }
  EXPECT_GT(texts, 3000);
}

}  // namespace
}  // namespace millrace
