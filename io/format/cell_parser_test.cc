#include "io/format/cell_parser.h"

#include <string>
#include <vector>

#include "base/isa/instruction_set.h"
#include "base/status_matchers.h"
#include "io/format/cell_index.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Lines of cells, two in each.
class CellParserTest : public testing::Test {
 protected:
  Column parse(const std::string& text, int64_t cell, ValueType as, CellFormat format = {}) {
    std::string padded = text + std::string(kTextPadding, '\0');
    std::vector<uint32_t> places(text.size() + 9), lines(text.size());
    places[0] = ~uint32_t{0};
    const CellCounts counts = index_cells(best_instruction_set())(
        padded.data(), static_cast<int64_t>(text.size()), ',', places.data() + 1, lines.data());
    EXPECT_EQ(counts.cells, 2 * counts.lines);
    std::vector<uint32_t> first_cells;
    for (int64_t line = 0; line < counts.lines; ++line) {
      first_cells.push_back(static_cast<uint32_t>(2 * line));
    }
    CellParser parser(as, format, counts.lines);
    // Splits the text over two tiles, to check that the tiles join.
    const auto all = absl::MakeConstSpan(first_cells);
    for (const auto& rows : {all.first(all.size() / 2), all.subspan(all.size() / 2)}) {
      EXPECT_OK(parser.append({padded.data(), places.data() + 1, rows}, cell,
                              [this](int64_t row, absl::string_view what) -> absl::Status {
                                complaints_.emplace_back(what);
                                return absl::OkStatus();
                              }));
    }
    return parser.finish();
  }

  std::vector<std::string> complaints_;
};

TEST_F(CellParserTest, IntegersAmongBlanksAndMissingOnes) {
  const Column column = parse("12,a\n -7 ,b\n,c\n123456789012,d\n  ,e\n", 0, ValueType::kInt64);
  EXPECT_THAT(column.int64s, ElementsAre(12, -7, 123456789012));
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 2, 2, 3, 3));
  EXPECT_THAT(complaints_, IsEmpty());
}

TEST_F(CellParserTest, OffsetsAreLeftOutWhereEveryRowHasOneValue) {
  const Column column = parse("1,2\n3,4\n", 1, ValueType::kDouble);
  EXPECT_THAT(column.doubles, ElementsAre(2, 4));
  EXPECT_THAT(column.offsets, IsEmpty());
}

TEST_F(CellParserTest, BadCellsAreMissingValues) {
  const Column column = parse("1,x\n2,7\n3,8y\n", 1, ValueType::kInt64);
  EXPECT_THAT(column.int64s, ElementsAre(7));
  EXPECT_THAT(column.offsets, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(complaints_, ElementsAre("\"x\" is not an integer", "\"8y\" is not an integer"));
}

TEST_F(CellParserTest, ACellThatLooksLikeAListNamesItsSetting) {
  parse("470|1|2,1;2.5\n", 0, ValueType::kInt64);
  parse("470|1|2,1;2.5\n", 1, ValueType::kDouble);
  CellFormat typed;
  typed.is_typed = true;
  parse("1 2,\n", 0, ValueType::kDouble, typed);
  EXPECT_THAT(
      complaints_,
      ElementsAre("\"470|1|2\" is not an integer; if it is a list, set csv { list_delimiter: "
                  "\"|\" }",
                  "\"1;2.5\" is not a number", "\"1 2\" is not a number"));
}

TEST_F(CellParserTest, BooleansAreOneAndZero) {
  const std::string text = "True,a\n false ,b\n7,c\nTRUE,d\nyes,e\n";
  EXPECT_THAT(parse(text, 0, ValueType::kInt64).int64s, ElementsAre(1, 0, 7, 1));
  EXPECT_THAT(parse(text, 0, ValueType::kDouble).doubles, ElementsAre(1, 0, 7, 1));
  EXPECT_EQ(parse(text, 0, ValueType::kString).strings[0], "True");
  EXPECT_THAT(complaints_, ElementsAre("\"yes\" is not an integer", "\"yes\" is not a number"));
  CellFormat list;
  list.list_delimiter = '|';
  EXPECT_THAT(parse("true|0|False,\n", 0, ValueType::kDouble, list).doubles, ElementsAre(1, 0, 0));
  CellFormat hexadecimal;
  hexadecimal.hexadecimal = true;
  EXPECT_THAT(parse("true,\n", 0, ValueType::kUint64, hexadecimal).int64s, IsEmpty());
}

TEST_F(CellParserTest, TheLastCellEndsBeforeACarriageReturn) {
  CellFormat last;
  last.is_last = true;
  const Column text = parse("1,a\r\n2,\r\n3,b\r\r\n", 1, ValueType::kString, last);
  ASSERT_EQ(text.strings.size(), 2);
  EXPECT_EQ(text.strings[0], "a");
  EXPECT_EQ(text.strings[1], "b\r");
  EXPECT_THAT(text.offsets, ElementsAre(0, 1, 1, 2));
}

TEST_F(CellParserTest, ListsOfEveryType) {
  CellFormat list;
  list.list_delimiter = '|';
  EXPECT_THAT(parse("1|2||3,\n|,\n", 0, ValueType::kInt64, list).int64s, ElementsAre(1, 2, 3));
  EXPECT_THAT(parse("0.5| 2 ,\n", 0, ValueType::kDouble, list).doubles, ElementsAre(0.5, 2));
  EXPECT_EQ(parse("a|b|,\n", 0, ValueType::kString, list).strings.size(), 2);
  list.hexadecimal = true;
  EXPECT_THAT(parse("ff|10,\n", 0, ValueType::kUint64, list).int64s, ElementsAre(255, 16));
  parse("xy,\n", 0, ValueType::kUint64, list);
  ASSERT_EQ(complaints_.size(), 1u);
}

}  // namespace
}  // namespace millrace
