#include "io/csv_reader.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<FileReader>> open(const std::string& text, CsvConfig config = {}) {
  const std::string path = fresh_test_dir() + "/data.csv";
  RETURN_IF_ERROR(write_file_atomically(FileSystem::local(), path, text));
  return open_csv(FileSystem::local(), path, config);
}

absl::StatusOr<Column> read(const std::string& text, ColumnRequest request, CsvConfig config = {}) {
  ASSIGN_OR_RETURN(const auto reader, open(text, config));
  ASSIGN_OR_RETURN(std::vector<Column> columns,
                   reader->read({0, 0, reader->group_rows().at(0)}, {request}));
  return columns[0];
}

CsvConfig named(std::vector<std::string> columns) {
  CsvConfig config;
  for (const std::string& column : columns) config.add_column(column);
  return config;
}

TEST(CsvReaderTest, HeaderQuotesBlankLinesAndLineEnds) {
  for (const std::string end : {"\n", "\r\n"}) {
    const std::string text =
        absl::StrCat("\xef\xbb\xbf", "a,\"b c\"", end, end, "1,\"x,\"\"y\"\"\"", end, end, end,
                     "2,", end, "3,z");  // no final newline
    ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
    EXPECT_EQ(reader->columns()[0].name, "a");
    EXPECT_EQ(reader->columns()[1].name, "b c");
    EXPECT_THAT(reader->group_rows(), ElementsAre(3));
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3}, {{0, ValueType::kInt64},
                                                                      {1, ValueType::kString},
                                                                      {0, ValueType::kDouble}}));
    EXPECT_THAT(columns[0].int64s, ElementsAre(1, 2, 3));
    EXPECT_THAT(columns[0].offsets, testing::IsEmpty());
    EXPECT_EQ(columns[1].strings[0], "x,\"y\"");
    EXPECT_EQ(columns[1].strings[1], "z");
    EXPECT_THAT(columns[1].offsets, ElementsAre(0, 1, 1, 2));
    EXPECT_THAT(columns[2].doubles, ElementsAre(1, 2, 3));
  }
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
                       HasSubstr("column rating: row 0: \"much\" is not a number")));
}

TEST(CsvReaderTest, ManyLinesMakeSeveralGroups) {
  std::string text = "id\n";
  for (int i = 0; i < 40000; ++i) absl::StrAppend(&text, i, "\n");
  ASSERT_OK_AND_ASSIGN(const auto reader, open(text));
  EXPECT_THAT(reader->group_rows(), ElementsAre(16384, 16384, 40000 - 2 * 16384));
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({1, 10, 2}, {{0, ValueType::kInt64}}));
  EXPECT_THAT(columns[0].int64s, ElementsAre(16394, 16395));
}

TEST(CsvReaderTest, ErrorsNameRowAndColumn) {
  EXPECT_THAT(read("a,b\n1,2\nx,3\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("data.csv, column a: row 1: \"x\" is not an integer"))));
  EXPECT_THAT(read("a,b\n1.5,2\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("\"1.5\" is not an integer")));
  EXPECT_THAT(
      read("a,b\n1,2 3\n", {1, ValueType::kDouble}),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("column b: row 0: \"2 3\" is not a number")));
  EXPECT_THAT(read("a,b\n1,2\n1,2,3\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("data.csv, rows 0 to 1")));
  EXPECT_THAT(read("a,b\n1,\"2\n3\"\n", {0, ValueType::kInt64}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("data.csv, rows 0 to 1")));
}

TEST(CsvReaderTest, RefusesWhatItCannotOpen) {
  EXPECT_THAT(open(""),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no line of column names")));
  CsvConfig config;
  config.set_delimiter("::");
  EXPECT_THAT(open("a\n", config),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("one character")));
  EXPECT_THAT(open(std::string((64 << 20) + 1, 'a')),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("a line of more than")));
}

}  // namespace
}  // namespace millrace
