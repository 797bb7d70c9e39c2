// Delimited text with quoted cells.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "io/format/csv_reader.h"
#include "io/format/csv_testing.h"
#include "tests/e2e/run_program.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using csv_testing::named;
using csv_testing::open;
using csv_testing::read;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> texts(const Column& column) {
  std::vector<std::string> texts;
  for (int64_t row = 0; row < column.rows; ++row) {
    texts.emplace_back(column.begin(row) == column.end(row)
                           ? "none"
                           : std::string(column.strings[column.begin(row)]));
  }
  return texts;
}

TEST(QuotedCsvTest, QuotedCells) {
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string text =
        absl::StrCat("\xef\xbb\xbf", "\"n\",\"the \"\"text\"\"\"", end, "\"7\",\"a, b\"", end, end,
                     "8,\"c\nd\r\n\"", end, "\" 9 \",\"\"", end, "\"\",\"\"\"e\"\"\"");
    ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
    EXPECT_EQ(reader->columns()[0].name, "n");
    EXPECT_EQ(reader->columns()[1].name, "the \"text\"");
    EXPECT_THAT(reader->group_rows(), ElementsAre(4));
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 4}, {{0, ValueType::kInt64},
                                                                      {1, ValueType::kString},
                                                                      {0, ValueType::kDouble}}));
    EXPECT_THAT(columns[0].int64s, ElementsAre(7, 8, 9));
    EXPECT_THAT(columns[0].offsets, ElementsAre(0, 1, 2, 3, 3));
    EXPECT_THAT(texts(columns[1]), ElementsAre("a, b", "c\nd\r\n", "none", "\"e\""));
    EXPECT_THAT(columns[2].doubles, ElementsAre(7, 8, 9));
    EXPECT_THAT(reader->row_lines(), ElementsAre(2, 4, 7, 8));
    ASSERT_OK(reader->read({0, 1, 2}, {{0, ValueType::kInt64}}));
    EXPECT_THAT(reader->row_lines(), ElementsAre(4, 7));
  }
}

TEST(QuotedCsvTest, QuotesAreCharactersLikeOthersIfLiteral) {
  CsvConfig config = named({"a", "b"});
  config.set_literal_quotes(true);
  ASSERT_OK_AND_ASSIGN(const Column column,
                       read("1,\"x\"\n2,\"\n", {1, ValueType::kString}, config));
  EXPECT_THAT(texts(column), ElementsAre("\"x\"", "\""));
  ASSERT_OK_AND_ASSIGN(const auto reader, open("\"a\",b\n1,2\n", [] {
                         CsvConfig literal;
                         literal.set_literal_quotes(true);
                         return literal;
                       }()));
  EXPECT_EQ(reader->columns()[0].name, "\"a\"");
}

TEST(QuotedCsvTest, QuotedListsAndHexadecimalNumbers) {
  CsvConfig config = named({"a", "b", "c"});
  config.set_list_delimiter(",");
  config.add_hexadecimal("c");
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       open("\"1,2,,3\",x,\"ff,10\"\n4,\"y\"\"s,z\",a\n\"\",,\"\"\r\n", config));
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3}, {{0, ValueType::kInt64},
                                                                    {1, ValueType::kString},
                                                                    {2, ValueType::kUint64}}));
  EXPECT_THAT(columns[0].int64s, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(columns[0].offsets, ElementsAre(0, 3, 4, 4));
  EXPECT_EQ(columns[1].strings.size(), 3);
  EXPECT_EQ(columns[1].strings[1], "y\"s");
  EXPECT_THAT(columns[1].offsets, ElementsAre(0, 1, 3, 3));
  EXPECT_THAT(columns[2].int64s, ElementsAre(255, 16, 10));
}

TEST(QuotedCsvTest, AnEmptyQuotedCellAloneIsARowThatMissesItsValue) {
  ASSERT_OK_AND_ASSIGN(const Column column,
                       read("\"\"\n\n\"x\"\n\"\"\r\n", {0, ValueType::kString}, named({"a"})));
  EXPECT_THAT(texts(column), ElementsAre("none", "x", "none"));
}

TEST(QuotedCsvTest, QuotedTypedHeader) {
  CsvConfig config;
  config.set_header(CsvConfig::TYPED);
  ASSERT_OK_AND_ASSIGN(const auto reader,
                       open("\"user,id:token\",\"g:float_seq\"\n\"u,1\",\"1 2\"\n", config));
  EXPECT_EQ(reader->columns()[0].name, "user,id");
  EXPECT_EQ(reader->columns()[1].type_name, "float_seq");
  ASSERT_OK_AND_ASSIGN(const auto columns,
                       reader->read({0, 0, 1}, {{0, ValueType::kString}, {1, ValueType::kDouble}}));
  EXPECT_EQ(columns[0].strings[0], "u,1");
  EXPECT_THAT(columns[1].doubles, ElementsAre(1, 2));
}

TEST(QuotedCsvTest, ErrorsNameTheLineWhereARowBegins) {
  EXPECT_THAT(read("\"a\nb\",c\n1,\"\n\n\"\nx,\"\n\"\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("data.csv, line 6, column a\\nb: \"x\" is not an integer")));
  EXPECT_THAT(read("a,b\n1,\"\n\",3\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("data.csv, line 2: 3 cells where 2 are due; its quoted cells take "
                                 "several lines; set csv { literal_quotes: true }")));
}

TEST(QuotedCsvTest, TextBehindTheClosingQuoteIsBadWhereItIsRead) {
  const std::string text = "a,b\n\"1\"x,2\n3,4\n5,\"6\n7\"\"\"y\n";
  EXPECT_THAT(
      read(text, {0, ValueType::kString}),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("data.csv, line 2, column a: the closing quote of the cell is "
                         "followed by \"x\"; set csv { literal_quotes: true } if quotes are "
                         "characters like others")));
  EXPECT_THAT(read(text, {1, ValueType::kString}),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("line 4, column b: the closing quote of the cell in line 5 is "
                                 "followed by \"y\"; set csv")));
  EXPECT_THAT(
      read("a,b\n\"1\"x,2,3\n", {1, ValueType::kString}),
      StatusIs(absl::StatusCode::kDataLoss,
               HasSubstr("line 2: 3 cells where 2 are due; the closing quote of the cell is "
                         "followed by \"x\"; set csv")));
  EXPECT_THAT(open("a,\"b\"c\n"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the name of column 2: the closing quote of the cell is followed "
                                 "by \"c\"; set csv")));
  EXPECT_THAT(open("\"a\";\"b\"\n"),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("the name of column 1: the closing quote of the cell is followed "
                                 "by \";\\\"b\\\"\"; if \";\" separates the cells, set csv { "
                                 "delimiter: \";\" }")));
  ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
  for (const auto& [column, row] : {std::pair(0, 0), std::pair(1, 2)}) {
    BadRows bad(3, /*skip=*/true);
    ASSERT_OK_AND_ASSIGN(const auto columns,
                         reader->read({0, 0, 3}, {{column, ValueType::kString}}, bad));
    EXPECT_EQ(bad.count(), 1) << "a column that is not read may hold anything";
    EXPECT_TRUE(bad.contains(row));
    EXPECT_EQ(columns[0].rows, 3);
  }
}

TEST(QuotedCsvTest, AQuotedCellThatDoesNotEnd) {
  EXPECT_THAT(open("a,b\n1,2\n3,\"x\n4,5\n"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("data.csv as delimited text: line 3: the quoted cell that "
                                       "begins here does not end"),
                             HasSubstr("literal_quotes: true"))));
  EXPECT_THAT(open("a,\"b\n1,2\n"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("line 1: the quoted cell")));
}

// As if the file changed after its layout was made.
TEST(QuotedCsvTest, QuotesThatAppearAfterTheLayout) {
  ASSERT_OK_AND_ASSIGN(const auto reader, open("a,b\n1,\"2\"\n3,4\n"));
  for (const std::string text :
       {"a,b\n\"1,2,\"\"3,4", "a,b\n1,\"2\"\n\"3,4\n", "\"a,b\n1,2\n\"3,4"}) {
    ASSERT_OK(write_file_atomically(FileSystem::local(), reader->path(), text));
    const auto again = open_csv(FileSystem::local(), reader->path(), CsvConfig(), reader->layout());
    if (!again.ok()) {
      EXPECT_EQ(again.status().code(), absl::StatusCode::kDataLoss);
      continue;
    }
    EXPECT_THAT((*again)->read({0, 0, 2}, {{0, ValueType::kString}}),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("changed while")));
  }
}

std::string in_quotes(absl::string_view text) {
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// Random cells, of which each is quoted if it must be or by chance, over several groups and many
// tiles, whose ends are anywhere in rows and cells.
TEST(QuotedCsvTest, RandomCellsAreReadBack) {
  constexpr absl::string_view kBytes = ",\n\r\"ab c|\xff\t";
  constexpr int64_t kRows = 40000;
  std::vector<std::string> expected[2];
  std::string text = "a,b\n";
  for (int64_t row = 0; row < kRows; ++row) {
    for (const int c : {0, 1}) {
      std::string cell;
      const uint64_t size = row % 10000 == 77 ? 100000 : philox64(1, c, row) % 30;
      for (uint64_t i = 0; i < size; ++i) {
        cell += kBytes[philox64(2 + c, row, i) % kBytes.size()];
      }
      // Nothing in the middle is quoted, so that tiles without quotes lie between others.
      if (row % 20000 > 12000) cell = "plain";
      const bool must = cell.find_first_of(",\n\r\"") != std::string::npos;
      absl::StrAppend(&text, must || philox64(4, c, row) % 3 == 0 ? in_quotes(cell) : cell,
                      c == 0             ? ","
                      : row == kRows - 1 ? ""
                      : row % 7 == 0     ? "\r\n"
                                         : "\n");
      expected[c].push_back(cell.empty() ? "none" : cell);
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
  ASSERT_GE(reader->group_rows().size(), 3u);
  int64_t first = 0;
  for (size_t g = 0; g < reader->group_rows().size(); ++g) {
    const int64_t rows = reader->group_rows()[g];
    for (const int64_t begin : {int64_t{0}, rows / 3, rows - 1}) {
      ASSERT_OK_AND_ASSIGN(const auto columns,
                           reader->read({static_cast<int64_t>(g), begin, rows - begin},
                                        {{1, ValueType::kString}, {0, ValueType::kString}}));
      for (const int c : {0, 1}) {
        const std::vector<std::string> read = texts(columns[1 - c]);
        for (int64_t row = 0; row < rows - begin; ++row) {
          ASSERT_EQ(read[row], expected[c][first + begin + row]) << first + begin + row;
        }
      }
    }
    first += rows;
  }
  EXPECT_EQ(first, kRows);
}

// Python's csv module writes them. Its line feeds and quotes are ours.
class PythonCsvTest : public testing::TestWithParam<std::string> {};

TEST_P(PythonCsvTest, IsReadBack) {
  const std::string path = fresh_test_dir() + "/python.csv";
  const std::string script = R"(
import csv, random, sys
draw = random.Random(1)
with open(sys.argv[1], "w", newline="") as file:
    writer = csv.writer(file, ARGUMENTS)
    writer.writerow(["row", "a \"name\", of\ntwo lines", "text"])
    for row in range(3000):
        text = "".join(draw.choice(",;\n\"ab ") for _ in range(draw.randrange(20)))
        writer.writerow([row, text.encode().hex(), text])
)";
  const ProgramResult result = run_program(
      {"/usr/bin/python3", "-c", absl::StrReplaceAll(script, {{"ARGUMENTS", GetParam()}}), path});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  CsvConfig config;
  if (absl::StrContains(GetParam(), "';'")) config.set_delimiter(";");
  ASSERT_OK_AND_ASSIGN(const auto reader, open_csv(FileSystem::local(), path, config));
  EXPECT_EQ(reader->columns()[1].name, "a \"name\", of\ntwo lines");
  ASSERT_THAT(reader->group_rows(), ElementsAre(3000));
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3000}, {{0, ValueType::kInt64},
                                                                       {1, ValueType::kString},
                                                                       {2, ValueType::kString}}));
  const std::vector<std::string> hexadecimal = texts(columns[1]), read = texts(columns[2]);
  for (int64_t row = 0; row < 3000; ++row) {
    ASSERT_EQ(columns[0].int64s[row], row);
    ASSERT_EQ(read[row],
              hexadecimal[row] == "none" ? "none" : absl::HexStringToBytes(hexadecimal[row]));
  }
}

INSTANTIATE_TEST_SUITE_P(Dialects, PythonCsvTest,
                         testing::Values("", "lineterminator='\\n'", "quoting=csv.QUOTE_ALL",
                                         "quoting=csv.QUOTE_NONNUMERIC, delimiter=';'"),
                         [](const auto& info) { return absl::StrCat("Dialect", info.index); });

}  // namespace
}  // namespace millrace
