#include "io/partition_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/bad_rows.h"
#include "io/file_format_conformance.h"
#include "io/file_reader.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Rows = std::vector<std::string>;

Partition entry(std::string directory, std::string name, std::optional<std::string> value) {
  return {.directory = std::move(directory), .name = std::move(name), .value = std::move(value)};
}

TEST(PartitionsOfTest, EachDirectoryWithANameIsOne) {
  EXPECT_THAT(
      partitions_of("data/day=2024-01-02/hour=7/part-0.parquet"),
      ElementsAre(entry("day=2024-01-02", "day", "2024-01-02"), entry("hour=7", "hour", "7")));
  EXPECT_THAT(partitions_of("/mnt/x=1/a.csv"), ElementsAre(entry("x=1", "x", "1")));
  EXPECT_THAT(partitions_of("x=1/a.csv"), ElementsAre(entry("x=1", "x", "1")));
  EXPECT_THAT(partitions_of("a=b=c/d.csv"), ElementsAre(entry("a=b=c", "a", "b=c")));
  for (const char* path : {"a.csv", "x=1.csv", "dir/x=1", "", "/", "=1/a.csv", "dir/=/a.csv"}) {
    EXPECT_THAT(partitions_of(path), IsEmpty()) << path;
  }
}

TEST(PartitionsOfTest, NamesAndValuesAreDecoded) {
  EXPECT_THAT(partitions_of("c%20d=a%2Fb%3d%C3%A9/x.csv"),
              ElementsAre(entry("c%20d=a%2Fb%3d%C3%A9", "c d", "a/b=\xc3\xa9")));
  EXPECT_THAT(partitions_of("a=1+2/b=5%/c=%2/d=%zz/x.csv"),
              ElementsAre(entry("a=1+2", "a", "1+2"), entry("b=5%", "b", "5%"),
                          entry("c=%2", "c", "%2"), entry("d=%zz", "d", "%zz")))
      << "other percent signs stay";
}

TEST(PartitionsOfTest, EmptyAndDefaultValuesAreMissing) {
  EXPECT_THAT(partitions_of("a=/b=__HIVE_DEFAULT_PARTITION__/x.csv"),
              ElementsAre(entry("a=", "a", std::nullopt),
                          entry("b=__HIVE_DEFAULT_PARTITION__", "b", std::nullopt)));
}

TEST(PartitionsOfTest, ThePathOfAUriCounts) {
  EXPECT_THAT(partitions_of("s3://bucket=1/day=2/x.csv"), ElementsAre(entry("day=2", "day", "2")));
  EXPECT_THAT(partitions_of("https://host/day=2/x.csv?key=a/b=c/d"),
              ElementsAre(entry("day=2", "day", "2")));
  EXPECT_THAT(partitions_of("s3://bucket"), IsEmpty());
}

TEST(PartitionsOfTest, AValueThatOccursTwiceCountsOnce) {
  EXPECT_THAT(partitions_of("a=1/b=2/a=1/x.csv"),
              ElementsAre(entry("a=1", "a", "1"), entry("b=2", "b", "2")));
  EXPECT_EQ(partitions_of("a=1/a=2/x.csv").size(), 2);
}

class PartitionColumnsTest : public testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<FileReader>> open(const std::string& directory) {
    const std::string path = absl::StrCat(directory, "/x.csv");
    files_.put(path, "id,name\n1,a\n2,b\n3,c\n");
    return open_file(files_, path, DataConfig());
  }
  static Rows texts(const Column& column) {
    Rows rows;
    for (int64_t row = 0; row < column.rows; ++row) rows.push_back(text_of_row(column, row));
    return rows;
  }

  MemoryFileSystem files_;
};

TEST_F(PartitionColumnsTest, AreWhateverTheyAreAskedFor) {
  ASSERT_OK_AND_ASSIGN(const auto reader, open("day=-12/city=a%20b"));
  ASSERT_EQ(reader->columns().size(), 4);
  EXPECT_EQ(reader->columns()[2].name, "day");
  EXPECT_EQ(reader->columns()[2].type, ValueType::kText);
  EXPECT_TRUE(reader->columns()[2].is_partition);
  EXPECT_FALSE(reader->columns()[1].is_partition);
  ASSERT_OK_AND_ASSIGN(const std::vector<Column> columns,
                       reader->read({0, 1, 2}, {{3, ValueType::kString},
                                                {0, ValueType::kInt64},
                                                {2, ValueType::kInt64},
                                                {1, ValueType::kString}}));
  EXPECT_THAT(texts(columns[0]), ElementsAre("a b;", "a b;"));
  EXPECT_THAT(texts(columns[1]), ElementsAre("2;", "3;"));
  EXPECT_THAT(texts(columns[2]), ElementsAre("-12;", "-12;"));
  EXPECT_THAT(texts(columns[3]), ElementsAre("b;", "c;"));
  for (const ValueType as : {ValueType::kString, ValueType::kInt64, ValueType::kDouble}) {
    ASSERT_OK_AND_ASSIGN(const auto alone, reader->read({0, 0, 3}, {{2, as}}));
    EXPECT_EQ(alone[0].type, as);
    EXPECT_THAT(texts(alone[0]), ElementsAre("-12;", "-12;", "-12;"));
  }
}

TEST_F(PartitionColumnsTest, MissingValuesAreMissing) {
  for (const char* directory : {"day=", "day=__HIVE_DEFAULT_PARTITION__"}) {
    ASSERT_OK_AND_ASSIGN(const auto reader, open(directory));
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3}, {{2, ValueType::kInt64}}));
    EXPECT_THAT(columns[0].offsets, ElementsAre(0, 0, 0, 0));
  }
}

TEST_F(PartitionColumnsTest, NumbersAreWrittenAsInCells) {
  ASSERT_OK_AND_ASSIGN(const auto reader, open("a=%20-7%20/b=True/c=%20"));
  for (const ValueType as : {ValueType::kInt64, ValueType::kDouble}) {
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3}, {{2, as}, {3, as}, {4, as}}));
    EXPECT_THAT(texts(columns[0]), ElementsAre("-7;", "-7;", "-7;"));
    EXPECT_THAT(texts(columns[1]), ElementsAre("1;", "1;", "1;"));
    EXPECT_THAT(columns[2].offsets, ElementsAre(0, 0, 0, 0));
  }
  ASSERT_OK_AND_ASSIGN(const auto text,
                       reader->read({0, 0, 1}, {{2, ValueType::kString}, {4, ValueType::kString}}));
  EXPECT_THAT(texts(text[0]), ElementsAre(" -7 ;"));
  EXPECT_THAT(texts(text[1]), ElementsAre(" ;"));
}

TEST_F(PartitionColumnsTest, AColumnOfTheFileWins) {
  ASSERT_OK_AND_ASSIGN(const auto reader, open("id=7/name=8/name=9"));
  EXPECT_EQ(reader->columns().size(), 2);
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 1}, {{0, ValueType::kInt64}}));
  EXPECT_THAT(texts(columns[0]), ElementsAre("1;"));
}

TEST_F(PartitionColumnsTest, APartitionOfTwoValuesCannotBeRead) {
  ASSERT_OK_AND_ASSIGN(const auto reader, open("a=1/b=3/a=2"));
  const std::vector<FileColumn>& columns = reader->columns();
  ASSERT_EQ(columns.size(), 4);
  EXPECT_EQ(columns[2].name, "a");
  EXPECT_FALSE(columns[2].supported);
  EXPECT_EQ(columns[2].type_name, "partition of several values, a=1 and a=2");
  EXPECT_TRUE(columns[3].supported);
  ASSERT_OK_AND_ASSIGN(const auto same, open("a=1/a=1"));
  EXPECT_TRUE(same->columns()[2].supported);
}

TEST_F(PartitionColumnsTest, AValueThatIsNoNumberMakesAllRowsBad) {
  for (const auto& [value, as] : {std::pair{"abc", ValueType::kDouble},
                                  {"1.5", ValueType::kInt64},
                                  {"+1", ValueType::kInt64},
                                  {"1x", ValueType::kDouble},
                                  {"99999999999999999999", ValueType::kInt64}}) {
    const std::string directory = absl::StrCat("d=", value);
    ASSERT_OK_AND_ASSIGN(const auto reader, open(directory));
    EXPECT_THAT(reader->read({0, 0, 3}, {{2, as}}),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(directory + "/x.csv: column d of directory " + directory),
                               HasSubstr(absl::StrCat("\"", value, "\" is no ")))));
    BadRows bad(3, /*skip=*/true);
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 3}, {{2, as}}, bad));
    EXPECT_EQ(bad.count(), 3);
    EXPECT_EQ(columns[0].values(), 3);
  }
}

// A file with its own columns and columns of its directories keeps the promises of readers.
ExpectedFile partitioned_csv() {
  ExpectedFile file;
  file.bytes = "id\n";
  file.columns = {{"id", ValueType::kInt64, {}},
                  {"day", ValueType::kInt64, {}},
                  {"city", ValueType::kString, {}},
                  {"none", ValueType::kString, {}}};
  for (int row = 0; row < 40; ++row) {
    absl::StrAppend(&file.bytes, row, "\n");
    file.columns[0].rows.push_back(absl::StrCat(row, ";"));
    file.columns[1].rows.push_back("12;");
    file.columns[2].rows.push_back("a b;");
    file.columns[3].rows.push_back("");
  }
  return file;
}

[[maybe_unused]] const bool kConformance =
    register_file_format_conformance("PartitionedCsv", {.file = partitioned_csv,
                                                        .directory = "day=12/city=a%20b/none=",
                                                        .extension = ".csv",
                                                        .may_end_anywhere = true});

}  // namespace
}  // namespace millrace
