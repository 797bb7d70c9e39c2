#include "io/format/csv_reader.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/format/csv_testing.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using csv_testing::named;
using csv_testing::open;
using csv_testing::read;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CsvReaderTest, HeaderBlankLinesAndLineEnds) {
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string text = absl::StrCat("\xef\xbb\xbf", "a,b c", end, end, "1,x \"y\"", end, end,
                                          end, " 2,", end, "3 ,z");  // no final newline
    ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
    EXPECT_EQ(reader->columns()[0].name, "a");
    EXPECT_EQ(reader->columns()[1].name, "b c");
    EXPECT_THAT(reader->group_rows(), ElementsAre(3));
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3}, {{0, ValueType::kInt64},
                                                                      {1, ValueType::kString},
                                                                      {0, ValueType::kDouble}}));
    EXPECT_THAT(columns[0].int64s, ElementsAre(1, 2, 3));
    EXPECT_THAT(columns[0].offsets, testing::IsEmpty());
    EXPECT_EQ(columns[1].strings[0], "x \"y\"");
    EXPECT_EQ(columns[1].strings[1], "z");
    EXPECT_THAT(columns[1].offsets, ElementsAre(0, 1, 1, 2));
    EXPECT_THAT(columns[2].doubles, ElementsAre(1, 2, 3));
  }
}

TEST(CsvReaderTest, ByteOrderMarkWithoutAHeader) {
  ASSERT_OK_AND_ASSIGN(const Column column, read("\xef\xbb\xbf"
                                                 "7\n8\n",
                                                 {0, ValueType::kInt64}, named({"a"})));
  EXPECT_THAT(column.int64s, ElementsAre(7, 8));
}

TEST(CsvReaderTest, ByteOrderMarkBeforeABlankLine) {
  ASSERT_OK_AND_ASSIGN(const Column column,
                       read("\xef\xbb\xbf\n7\n8\n", {0, ValueType::kInt64}, named({"a"})));
  EXPECT_THAT(column.int64s, ElementsAre(7, 8));
  ASSERT_OK_AND_ASSIGN(const auto reader, open("\xef\xbb\xbf\r\na,b\n1,2\n"));
  EXPECT_EQ(reader->columns()[0].name, "a");
}

TEST(CsvReaderTest, ALineThatNamesTheSeparatorIsNoLineOfTheData) {
  CsvConfig config;
  config.set_delimiter(";");
  const std::string text = "\xef\xbb\xbfsep=;\r\na;b\r\n1;x\r\n";
  ASSERT_OK_AND_ASSIGN(const auto reader, open(text, config));
  EXPECT_EQ(reader->columns()[0].name, "a");
  EXPECT_THAT(reader->group_rows(), ElementsAre(1));
  EXPECT_THAT(
      read(text, {1, ValueType::kInt64}, config),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("data.csv, line 3, column b: \"x\"")));
  CsvConfig names = named({"a", "b"});
  names.set_delimiter(";");
  ASSERT_OK_AND_ASSIGN(const Column column, read("sep=;\n1;2\n", {1, ValueType::kInt64}, names));
  EXPECT_THAT(column.int64s, ElementsAre(2));
}

TEST(CsvReaderTest, ALineThatNamesAnotherSeparatorIsRefused) {
  const auto refuses = [](const std::string& setting) {
    return StatusIs(absl::StatusCode::kInvalidArgument,
                    HasSubstr("the first line says delimiter " + setting));
  };
  for (const CsvConfig& config : {CsvConfig(), named({"a", "b"})}) {
    EXPECT_THAT(open("sep=;\na;\"b\n1;2\n", config),
                refuses("\";\"; set csv { delimiter: \";\" }"));
    EXPECT_THAT(open("sep=\t\na\tb\n", config), refuses("\"\\t\"; set csv"));
    EXPECT_OK(open("sep=,\na,b\n", config));
  }
}

TEST(CsvReaderTest, RefusesOtherEncodingsAndLineEnds) {
  for (const CsvConfig& config : {CsvConfig(), named({"a", "b"})}) {
    EXPECT_THAT(open(std::string("\xff\xfe"
                                 "a\0,\0b\0\n\0",
                                 10),
                     config),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("data.csv"), HasSubstr("convert it to UTF-8"))));
    EXPECT_THAT(
        open("a,b\r1,2\r3,4\r", config),
        StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("data.csv"), HasSubstr("line 1"),
                                                    HasSubstr("carriage returns alone"))));
  }
}

// The cells that it lacks are empty, wherever that is in memory.
TEST(CsvReaderTest, AShortLineOfManyColumns) {
  constexpr int64_t kColumns = 5000;
  std::vector<std::string> names;
  std::vector<ColumnRequest> requests;
  for (int64_t c = 0; c < kColumns; ++c) {
    names.push_back(absl::StrCat("c", c));
    requests.push_back({c, c % 2 == 0 ? ValueType::kDouble : ValueType::kInt64});
  }
  ASSERT_OK_AND_ASSIGN(const auto reader, open("x\n", named(names)));
  BadRows bad(1, /*skip=*/true);
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 1}, requests, bad));
  EXPECT_TRUE(bad.contains(0));
  for (const Column& column : columns) EXPECT_EQ(column.rows, 1);
}

TEST(CsvReaderTest, HexadecimalColumns) {
  CsvConfig config = named({"a", "b", "c"});
  config.set_delimiter("\t");
  config.add_hexadecimal("b");
  config.add_hexadecimal("c");
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       open("1\t68fd1e64\t\n10\t\tFFFFFFFFFFFFFFFF\r\n", config));
  EXPECT_EQ(reader->columns()[0].type, ValueType::kText);
  EXPECT_EQ(reader->columns()[1].type, ValueType::kUint64);
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 2}, {{1, ValueType::kUint64},
                                                                    {2, ValueType::kUint64},
                                                                    {0, ValueType::kInt64}}));
  EXPECT_THAT(columns[0].int64s, ElementsAre(0x68fd1e64));
  EXPECT_THAT(columns[0].offsets, ElementsAre(0, 1, 1));
  EXPECT_THAT(columns[1].int64s, ElementsAre(-1));
  EXPECT_THAT(columns[2].int64s, ElementsAre(1, 10));
  EXPECT_THAT(read("1\txyz\t\n", {1, ValueType::kUint64}, config),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"xyz\" is not a hexadecimal")));
  config.add_hexadecimal("cc");
  EXPECT_THAT(open("1\t2\t3\n", config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("did you mean \"c\"")));
}

TEST(CsvReaderTest, HexadecimalLists) {
  CsvConfig config = named({"a"});
  config.add_hexadecimal("a");
  config.set_list_delimiter("|");
  ASSERT_OK_AND_ASSIGN(const Column column, read("a|ff\n|\n", {0, ValueType::kUint64}, config));
  EXPECT_THAT(column.int64s, ElementsAre(10, 255));
  EXPECT_THAT(column.offsets, ElementsAre(0, 2, 2));
}

TEST(CsvReaderTest, RowsLongerThanATile) {
  const std::string longest(300000, 'x');
  const std::string text = absl::StrCat("1,a\n2,", longest, "\n3,", longest, "\n4,b\n");
  ASSERT_OK_AND_ASSIGN(const auto reader, open(text, named({"a", "b"})));
  for (const int64_t begin : {0, 1, 3}) {
    ASSERT_OK_AND_ASSIGN(
        const auto columns,
        reader->read({0, begin, 4 - begin}, {{0, ValueType::kInt64}, {1, ValueType::kString}}));
    EXPECT_EQ(columns[0].int64s[0], begin + 1);
    EXPECT_EQ(columns[0].int64s.back(), 4);
    EXPECT_EQ(columns[1].strings[3 - begin], "b");
    if (begin < 2) {
      EXPECT_EQ(columns[1].strings[1 - begin].size(), longest.size());
    }
  }
}

TEST(CsvReaderTest, BadRowsAreLeftOutAndTheOthersRight) {
  std::string text = "a,b\n";
  for (int i = 0; i < 12000; ++i) {
    absl::StrAppend(&text, i, i % 1000 == 3 ? ",x" : i % 1000 == 5 ? "" : ",7", "\n");
  }
  ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
  BadRows bad(11000, /*skip=*/true);
  ASSERT_OK_AND_ASSIGN(
      const auto columns,
      reader->read({0, 1000, 11000}, {{0, ValueType::kInt64}, {1, ValueType::kInt64}}, bad));
  EXPECT_EQ(bad.count(), 22);
  EXPECT_THAT(bad.first().message(), HasSubstr("data.csv, line 1007: 1 cells where 2 are due"));
  for (int64_t row = 0; row < 11000; ++row) {
    ASSERT_EQ(bad.contains(row), row % 1000 == 3 || row % 1000 == 5) << row;
    if (bad.contains(row)) continue;
    ASSERT_EQ(columns[0].int64s[columns[0].begin(row)], row + 1000);
    ASSERT_EQ(columns[1].end(row) - columns[1].begin(row), 1);
  }
}

TEST(CsvReaderTest, ALayoutSavesLookingThroughTheFile) {
  ASSERT_OK_AND_ASSIGN(const auto reader, open("a,b\n1,2\n3,4\n"));
  ASSERT_OK_AND_ASSIGN(const auto again, open_csv(FileSystem::local(), reader->path(), CsvConfig(),
                                                  reader->layout()));
  EXPECT_EQ(again->group_rows(), reader->group_rows());
  ASSERT_OK_AND_ASSIGN(const auto columns, again->read({0, 1, 1}, {{1, ValueType::kInt64}}));
  EXPECT_THAT(columns[0].int64s, ElementsAre(4));
  ASSERT_OK(write_file_atomically(FileSystem::local(), reader->path(), "a,b\n1,2\n"));
  EXPECT_THAT(open_csv(FileSystem::local(), reader->path(), CsvConfig(), reader->layout()),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("changed while")));
}

TEST(CsvReaderTest, TextIsBytes) {
  CsvConfig config = named({"a", "b"});
  ASSERT_OK_AND_ASSIGN(const Column column,
                       read(std::string("\xff\x80,1\n\0,2\n", 9), {0, ValueType::kString}, config));
  EXPECT_EQ(column.strings[0], "\xff\x80");
  EXPECT_EQ(column.strings[1], absl::string_view("\0", 1));
  EXPECT_THAT(read("\xff,1\n", {0, ValueType::kInt64}, config),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"\\377\" is not an integer")));
}

TEST(CsvReaderTest, NamedColumnsAndOtherDelimiters) {
  CsvConfig config = named({"x", "y"});
  config.set_delimiter("\t");
  config.set_list_delimiter(";");
  ASSERT_OK_AND_ASSIGN(const Column column,
                       read("1\t2;3;;4\n5\t\n6\t7\n", {1, ValueType::kInt64}, config));
  EXPECT_THAT(column.int64s, ElementsAre(2, 3, 4, 7));
  EXPECT_THAT(column.offsets, ElementsAre(0, 3, 3, 4));
}

TEST(CsvReaderTest, WholeCellsOfLists) {
  CsvConfig config = named({"a", "b"});
  config.set_list_delimiter("|");
  const std::string text = "1|2,|x||y\n,z\n";
  ASSERT_OK_AND_ASSIGN(const Column whole, read(text, {1, ValueType::kText}, config));
  EXPECT_EQ(whole.type, ValueType::kString);
  ASSERT_EQ(whole.values(), 2);
  EXPECT_EQ(whole.strings[0], "|x||y");
  EXPECT_EQ(whole.strings[1], "z");
  ASSERT_OK_AND_ASSIGN(const Column missing, read(text, {0, ValueType::kText}, config));
  EXPECT_THAT(missing.offsets, ElementsAre(0, 1, 1));
}

CsvConfig typed() {
  CsvConfig config;
  config.set_delimiter("\t");
  config.set_header(CsvConfig::TYPED);
  return config;
}

TEST(CsvReaderTest, TypedHeader) {
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       open("user:id:token\trating:float\tgenres:token_seq\tembedding:float_seq\n"
                            "007\t3.5\tComedy Film  Noir\t1 -2.5\n"
                            "b c\t\t\t\n",
                            typed()));
  ASSERT_EQ(reader->columns().size(), 4);
  EXPECT_EQ(reader->columns()[0].name, "user:id");
  EXPECT_EQ(reader->columns()[0].type, ValueType::kString);
  EXPECT_EQ(reader->columns()[1].name, "rating");
  EXPECT_EQ(reader->columns()[1].type, ValueType::kDouble);
  EXPECT_EQ(reader->columns()[2].type, ValueType::kString);
  EXPECT_EQ(reader->columns()[3].type, ValueType::kDouble);
  EXPECT_EQ(reader->columns()[3].type_name, "float_seq");
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 2}, {{0, ValueType::kString},
                                                                    {1, ValueType::kDouble},
                                                                    {2, ValueType::kString},
                                                                    {3, ValueType::kDouble}}));
  EXPECT_EQ(columns[0].strings[0], "007");
  EXPECT_EQ(columns[0].strings[1], "b c") << "a token is one value";
  EXPECT_THAT(columns[1].doubles, ElementsAre(3.5));
  EXPECT_THAT(columns[1].offsets, ElementsAre(0, 1, 1));
  ASSERT_EQ(columns[2].strings.size(), 3);
  EXPECT_EQ(columns[2].strings[1], "Film");
  EXPECT_THAT(columns[2].offsets, ElementsAre(0, 3, 3));
  EXPECT_THAT(columns[3].doubles, ElementsAre(1, -2.5));
}

TEST(CsvReaderTest, TypedNamesInTheConfiguration) {
  CsvConfig config = typed();
  config.add_column("user:token");
  config.add_column("rating:float");
  ASSERT_OK_AND_ASSIGN(const Column column, read("u\t4\n", {1, ValueType::kDouble}, config));
  EXPECT_THAT(column.doubles, ElementsAre(4));
}

TEST(CsvReaderTest, TypedHeaderThatIsNone) {
  for (const std::string name :
       {"user", "user:", ":token", "user:int", "user:Token", "user:token "}) {
    EXPECT_THAT(open(absl::StrCat("rating:float\t", name, "\n1\t2\n"), typed()),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("data.csv"), HasSubstr(absl::StrCat("\"", name, "\"")),
                               HasSubstr("token_seq"))))
        << name;
  }
  EXPECT_THAT(open("a,b\n", typed()), StatusIs(absl::StatusCode::kDataLoss)) << "another delimiter";
  EXPECT_THAT(read("rating:float\nmuch\n", {0, ValueType::kDouble}, typed()),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("line 2, column rating: \"much\" is not a number")));
}

TEST(CsvReaderTest, ManyLinesMakeSeveralGroups) {
  std::string text = "id\n";
  for (int i = 0; i < 40000; ++i) absl::StrAppend(&text, i, "\n");
  ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
  EXPECT_THAT(reader->group_rows(), ElementsAre(16384, 16384, 40000 - 2 * 16384));
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({1, 10, 2}, {{0, ValueType::kInt64}}));
  EXPECT_THAT(columns[0].int64s, ElementsAre(16394, 16395));
}

TEST(CsvReaderTest, ErrorsNameLineAndColumn) {
  EXPECT_THAT(read("a,b\n1,2\n\nx,3\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("data.csv, line 4, column a: \"x\" is not an integer")));
  EXPECT_THAT(read("a,b\n1.5,2\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"1.5\" is not an integer")));
  EXPECT_THAT(read("a,b\n7.0,2\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("\"7.0\" is not an integer; the transform cast")));
  EXPECT_THAT(read("a,b\n1,2 3\n", {1, ValueType::kDouble}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("line 2, column b: \"2 3\" is not a number")));
  EXPECT_THAT(read("a,b\n1,2\n1,2,3\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("data.csv, line 3: 3 cells where 2 are due")));
  EXPECT_THAT(
      read("a,b\n1;2\n", {0, ValueType::kInt64}),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("line 2: 1 cells where 2 are due; the line has \";\" 1 time: if it "
                         "separates the cells, set csv { delimiter: \";\" }")));
}

// Such as a compressed file: its bytes are no names of columns.
TEST(CsvReaderTest, NamesOfColumnsAreText) {
  EXPECT_THAT(open(std::string("a,\x1f\x8b\n1,2\n", 9)),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("this is no text: byte 2 of its first line is 0x1f")));
  EXPECT_THAT(open(std::string("a,b\0c\n1,2\n", 10)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("byte 3 of its first line is 0x00")));
  CsvConfig config;
  config.set_delimiter("\x01");
  EXPECT_OK(
      open("a\x01"
           "b\n1\x01"
           "2\n",
           config));
}

TEST(CsvReaderTest, RefusesWhatItCannotOpen) {
  EXPECT_THAT(open(""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no line of column names")));
  EXPECT_THAT(open("a\n" + std::string(100 << 20, 'a')),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line 2: more than 16777216 bytes")));
}

}  // namespace
}  // namespace millrace
