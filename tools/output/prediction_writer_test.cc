#include "tools/output/prediction_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"
#include "io/file_reader.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const PredictionColumns kAll = {.tasks = {"click", "buy"},
                                .with_label = {true, true},
                                .with_group_ids = true,
                                .with_set = true};
const PredictionColumns kFew = {.tasks = {"click"}, .with_label = {false}};

std::string file_name(PredictionFormat format) {
  return fresh_test_dir() + (format == PredictionFormat::kCsv ? "/p.csv" : "/p.parquet");
}

// Writes a file by `write`.
absl::Status written(FileSystem& files, const std::string& path, const PredictionColumns& columns,
                     const std::function<absl::Status(PredictionWriter&)>& write) {
  return write_file_atomically(files, path, [&](WritableFile& file) -> absl::Status {
    ASSIGN_OR_RETURN(const PredictionFormat format, prediction_format(path));
    ASSIGN_OR_RETURN(const auto writer, PredictionWriter::open(file, format, columns));
    RETURN_IF_ERROR(write(*writer));
    return writer->finish();
  });
}

absl::Status append_two(PredictionWriter& writer) {
  const int64_t ids[] = {int64_t{3} << 40 | 17, -1};
  const int64_t groups[] = {7, 8};
  const float predictions[] = {0.1f, 1e-20f, 0.25f, 1};
  const float labels[] = {1, 0, 0, 1};
  return writer.append({"late", ids, groups, predictions, labels});
}

std::vector<std::string> column_names(const FileReader& reader) {
  std::vector<std::string> names;
  for (const FileColumn& column : reader.columns()) names.push_back(column.name);
  return names;
}

TEST(PredictionWriterTest, FormatByExtension) {
  EXPECT_THAT(prediction_format("a/b.parquet"), IsOkAndHolds(PredictionFormat::kParquet));
  EXPECT_THAT(prediction_format("b.pq"), IsOkAndHolds(PredictionFormat::kParquet));
  EXPECT_THAT(prediction_format("b.csv"), IsOkAndHolds(PredictionFormat::kCsv));
  for (const char* path : {"", "b", "b.orc", "b.csv/", "csv"}) {
    EXPECT_THAT(prediction_format(path),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(".parquet")))
        << path;
  }
}

TEST(PredictionWriterTest, AllColumnsReadBackExactly) {
  for (const auto format : {PredictionFormat::kCsv, PredictionFormat::kParquet}) {
    const std::string path = file_name(format);
    ASSERT_OK(written(FileSystem::local(), path, kAll, append_two));
    ASSERT_OK_AND_ASSIGN(const auto reader, open_file(FileSystem::local(), path, DataConfig()));
    EXPECT_THAT(column_names(*reader),
                ElementsAre("set", "example_id", "group_id", "click_prediction", "buy_prediction",
                            "click", "buy"));
    ASSERT_THAT(reader->group_rows(), ElementsAre(2));
    ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 2}, {{0, ValueType::kString},
                                                                      {1, ValueType::kInt64},
                                                                      {2, ValueType::kInt64},
                                                                      {3, ValueType::kDouble},
                                                                      {4, ValueType::kDouble},
                                                                      {5, ValueType::kDouble}}));
    EXPECT_EQ(columns[0].strings[1], "late");
    EXPECT_THAT(columns[1].int64s, ElementsAre(int64_t{3} << 40 | 17, -1));
    EXPECT_THAT(columns[2].int64s, ElementsAre(7, 8));
    EXPECT_EQ(static_cast<float>(columns[3].doubles[0]), 0.1f) << "to the last bit";
    EXPECT_EQ(static_cast<float>(columns[4].doubles[0]), 1e-20f);
    EXPECT_THAT(columns[5].doubles, ElementsAre(1, 0));
  }
}

TEST(PredictionWriterTest, Text) {
  const std::string path = file_name(PredictionFormat::kCsv);
  ASSERT_OK(written(FileSystem::local(), path, kAll, append_two));
  EXPECT_THAT(read_file(FileSystem::local(), path),
              IsOkAndHolds("set,example_id,group_id,click_prediction,buy_prediction,click,buy\n"
                           "late,3298534883345,7,0.1,1e-20,1,0\n"
                           "late,-1,8,0.25,1,0,1\n"));
}

TEST(PredictionWriterTest, ManyRowsInGroups) {
  constexpr int64_t kRows = 150000;
  for (const auto format : {PredictionFormat::kCsv, PredictionFormat::kParquet}) {
    const std::string path = file_name(format);
    ASSERT_OK(written(FileSystem::local(), path, kFew, [](PredictionWriter& writer) {
      for (int64_t begin = 0; begin < kRows; begin += 1000) {
        std::vector<int64_t> ids;
        for (int64_t i = 0; i < 1000; ++i) ids.push_back(begin + i);
        RETURN_IF_ERROR(writer.append({"", ids, {}, std::vector<float>(1000, 0.5f), {}}));
      }
      return absl::OkStatus();
    }));
    ASSERT_OK_AND_ASSIGN(const auto reader, open_file(FileSystem::local(), path, DataConfig()));
    EXPECT_THAT(column_names(*reader), ElementsAre("example_id", "click_prediction"));
    int64_t next = 0;
    for (size_t group = 0; group < reader->group_rows().size(); ++group) {
      const int64_t rows = reader->group_rows()[group];
      EXPECT_LE(rows, 65536);
      ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({static_cast<int64_t>(group), 0, rows},
                                                            {{0, ValueType::kInt64}}));
      for (const int64_t id : columns[0].int64s) ASSERT_EQ(id, next++);
    }
    EXPECT_EQ(next, kRows);
  }
}

// Returns columns with one row each: text, missing text, an unsigned number above int64's, a
// number.
std::vector<Column> kept_values(absl::string_view key) {
  std::vector<Column> columns(4);
  columns[0].type = columns[1].type = ValueType::kString;
  columns[2].type = ValueType::kUint64;
  columns[3].type = ValueType::kDouble;
  for (Column& column : columns) column.rows = 1;
  columns[0].strings.push_back(key);
  columns[1].offsets = {0, 0};
  columns[2].int64s = {-1};
  columns[3].doubles = {0.1};
  return columns;
}

const PredictionColumns kWithKept = {.tasks = {"click"},
                                     .with_label = {true},
                                     .kept = {{"key", ValueType::kString},
                                              {"none", ValueType::kString},
                                              {"code", ValueType::kUint64},
                                              {"price", ValueType::kDouble}}};

absl::Status append_kept(PredictionWriter& writer, absl::string_view key) {
  const int64_t ids[] = {7};
  const float predictions[] = {0.5f}, labels[] = {1};
  const std::vector<Column> kept = kept_values(key);
  return writer.append({"", ids, {}, predictions, labels, kept});
}

TEST(PredictionWriterTest, KeptColumnsComeLast) {
  const auto write = [](PredictionWriter& writer) { return append_kept(writer, "a,\"b\""); };
  const std::string text = file_name(PredictionFormat::kCsv);
  ASSERT_OK(written(FileSystem::local(), text, kWithKept, write));
  EXPECT_THAT(read_file(FileSystem::local(), text),
              IsOkAndHolds("example_id,click_prediction,click,key,none,code,price\n"
                           "7,0.5,1,\"a,\"\"b\"\"\",,18446744073709551615,0.1\n"));
  const std::string path = file_name(PredictionFormat::kParquet);
  ASSERT_OK(written(FileSystem::local(), path, kWithKept, write));
  ASSERT_OK_AND_ASSIGN(const auto reader, open_file(FileSystem::local(), path, DataConfig()));
  EXPECT_THAT(column_names(*reader), ElementsAre("example_id", "click_prediction", "click", "key",
                                                 "none", "code", "price"));
  std::vector<ColumnRequest> requests;
  for (int64_t i = 3; i < 7; ++i) {
    const FileColumn& column = reader->columns()[i];
    requests.push_back({i, column.type});
    EXPECT_EQ(column.is_empty, column.name == "none");
    if (!column.is_empty) {
      EXPECT_EQ(column.type, kWithKept.kept[i - 3].type) << column.name;
    }
  }
  ASSERT_OK_AND_ASSIGN(const auto columns, reader->read({0, 0, 1}, requests));
  EXPECT_EQ(columns[0].strings[0], "a,\"b\"");
  EXPECT_EQ(columns[1].begin(0), columns[1].end(0)) << "missing";
  EXPECT_THAT(columns[2].int64s, ElementsAre(-1));
  EXPECT_THAT(columns[3].doubles, ElementsAre(0.1));
}

TEST(PredictionWriterTest, LongTextsMakeSmallGroups) {
  const std::string path = file_name(PredictionFormat::kParquet);
  const std::string long_text(40 << 20, 'x');
  ASSERT_OK(written(FileSystem::local(), path, kWithKept, [&](PredictionWriter& writer) {
    for (int i = 0; i < 3; ++i) RETURN_IF_ERROR(append_kept(writer, long_text));
    return absl::OkStatus();
  }));
  ASSERT_OK_AND_ASSIGN(const auto reader, open_file(FileSystem::local(), path, DataConfig()));
  EXPECT_THAT(reader->group_rows(), ElementsAre(2, 1));
}

TEST(PredictionWriterTest, BytesThatAreNoTextAreKeptInCsvAlone) {
  const auto write = [](PredictionWriter& writer) { return append_kept(writer, "\xff\x01"); };
  EXPECT_THAT(
      written(FileSystem::local(), file_name(PredictionFormat::kParquet), kWithKept, write),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("column \"key\" of example 7 is not UTF-8"), HasSubstr(".csv"))));
  const std::string text = file_name(PredictionFormat::kCsv);
  ASSERT_OK(written(FileSystem::local(), text, kWithKept, write));
  EXPECT_THAT(read_file(FileSystem::local(), text), IsOkAndHolds(HasSubstr(",\xff\x01,")));
}

TEST(PredictionWriterTest, KeptNamesThatClash) {
  PredictionColumns columns = kAll;
  for (const std::string name : {"set", "example_id", "group_id", "buy_prediction", "click"}) {
    columns.kept = {{.name = "fine"}, {.name = name}};
    EXPECT_THAT(check_kept_names(columns), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr(absl::StrCat("\"", name, "\""))));
  }
  columns = kFew;
  columns.kept = {{.name = "set"}, {.name = "group_id"}, {.name = "click"}};
  EXPECT_OK(check_kept_names(columns)) << "no other column has these names";
}

TEST(PredictionWriterTest, NamesThatClash) {
  const auto open = [](const PredictionColumns& columns) {
    return written(FileSystem::local(), file_name(PredictionFormat::kCsv), columns,
                   [](PredictionWriter&) { return absl::OkStatus(); });
  };
  EXPECT_THAT(open({.tasks = {"a", "a_prediction"}, .with_label = {true, true}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"a_prediction\"")));
  EXPECT_OK(open({.tasks = {"a", "a_prediction"}, .with_label = {true, false}}));
  EXPECT_THAT(open({.tasks = {"example_id"}, .with_label = {true}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"example_id\"")));
  EXPECT_OK(open({.tasks = {"group_id"}, .with_label = {true}}));
}

TEST(PredictionWriterTest, EveryFailureOfTheFileComesOutAndLeavesNothing) {
  for (const auto format : {PredictionFormat::kCsv, PredictionFormat::kParquet}) {
    const std::string path = file_name(format);
    int whole = 0;  // if the last call fails, the sync of the directory
    for (int64_t call = 0;; ++call) {
      FaultFileSystem files(FileSystem::local());
      files.fail(call, 1, absl::ResourceExhaustedError("disk full"));
      const absl::Status status = written(files, path, kAll, append_two);
      if (files.calls() <= call) break;
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("disk full")))
          << call;
      whole += FileSystem::local().remove(path).ok() ? 1 : 0;
      EXPECT_THAT(FileSystem::local().glob(path + "*"), IsOkAndHolds(IsEmpty())) << call;
    }
    EXPECT_EQ(whole, 1);
  }
}

TEST(PredictionWriterTest, GivenUpItTouchesTheFileNoMore) {
  const std::string path = file_name(PredictionFormat::kParquet);
  EXPECT_THAT(written(FileSystem::local(), path, kAll,
                      [](PredictionWriter& writer) {
                        RETURN_IF_ERROR(append_two(writer));
                        return absl::DataLossError("the data ended badly");
                      }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(FileSystem::local().glob(path + "*"), IsOkAndHolds(IsEmpty()));
}

TEST(KeptNamesTest, ValuesAreNamesOrListsOfThem) {
  EXPECT_THAT(kept_names({}, {}), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(kept_names({"b,a", "c"}, {}), IsOkAndHolds(ElementsAre("b", "a", "c")));
  EXPECT_THAT(kept_names({"b,a", "c"}, {"a", "b", "c"}), IsOkAndHolds(ElementsAre("b", "a", "c")));
}

TEST(KeptNamesTest, AValueThatIsAColumnIsThisColumn) {
  EXPECT_THAT(kept_names({"city, country", "a,b"}, {"a", "b", "city, country"}),
              IsOkAndHolds(ElementsAre("city, country", "a", "b")));
  EXPECT_THAT(kept_names({"a,b"}, {"a", "b", "a,b"}), IsOkAndHolds(ElementsAre("a,b")));
  EXPECT_THAT(kept_names({","}, {","}), IsOkAndHolds(ElementsAre(",")));
}

TEST(KeptNamesTest, EmptyNamesAndRepetitionsAreRefused) {
  const auto refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what));
  };
  EXPECT_THAT(kept_names({"a,,b"}, {}), refused("\"a,,b\" has an empty name"));
  EXPECT_THAT(kept_names({""}, {}), refused("\"\" has an empty name"));
  EXPECT_THAT(kept_names({"a,b", "b"}, {}), refused("column \"b\" comes twice"));
  EXPECT_THAT(kept_names({"a,b", "a,b"}, {"a,b"}), refused("column \"a,b\" comes twice"));
}

}  // namespace
}  // namespace millrace
