// Columns of the files that batches hold unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "tests/io_testing/batches.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int64_t kRows = 300;
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

std::string text_of(int64_t row) { return absl::StrCat("user ", row); }
bool has_text(int64_t row) { return row % 7 != 3; }

// Examples with a text "key", which some lack, and the integer "day"; "row" is the example id.
TestTable table_of(int64_t rows, int64_t first_row = 0) {
  TestTable table = criteo_like_table(rows, 2, 2, first_row);
  TestColumn::Rows<std::string> keys;
  TestColumn::Rows<int64_t> days;
  for (int64_t row = first_row; row < first_row + rows; ++row) {
    keys.emplace_back();
    if (has_text(row)) keys.back() = {text_of(row)};
    days.push_back({row % 5});
  }
  table.columns.push_back({.name = "key", .rows = std::move(keys)});
  table.columns.push_back({.name = "day", .rows = std::move(days)});
  return table;
}

// One row of a batch.
struct Row {
  int64_t id = 0;
  std::string key;  // "-": missing
  std::string day;

  friend bool operator==(const Row&, const Row&) = default;
  friend void PrintTo(const Row& row, std::ostream* out) {
    *out << row.id << " " << row.key << " " << row.day;
  }
};

Row expected_row(int64_t row) {
  return {row, has_text(row) ? text_of(row) : "-", absl::StrCat(row % 5)};
}

std::string cell(const Column& column, int64_t row) {
  const int64_t value = column.begin(row);
  if (value == column.end(row)) return "-";
  EXPECT_EQ(column.end(row), value + 1);
  return column.type == ValueType::kString ? std::string(column.strings[value])
                                           : absl::StrCat(column.int64s[value]);
}

class KeptColumnsTest : public testing::Test {
 protected:
  KeptColumnsTest() : dir_(fresh_test_dir()) {
    options_.data.set_batch_size(64);
    options_.data.mutable_csv()->set_list_delimiter("|");
    keep({"key", "day"});
  }

  void keep(std::vector<std::string> columns) {
    TrainConfig config = criteo_like_features(2, 2);
    FeatureConfig* row = config.add_feature();
    row->set_name("row");
    row->set_kind(FeatureConfig::EXAMPLE_ID);
    options_.schema = *FeatureSchema::create(config, std::move(columns));
  }

  void write(const TestTable& table, DataConfig::Format format = DataConfig::PARQUET,
             const std::string& name = "data") {
    const std::string path = absl::StrCat(dir_, "/", name, extension_of(format));
    ASSERT_OK(write_data_file(table, format, /*group_rows=*/100, path));
    options_.data.add_path(path);
  }

  absl::StatusOr<std::vector<Batch>> read() const {
    ASSIGN_OR_RETURN(const auto data, open_dataset(options_));
    RETURN_IF_ERROR(data->start_epoch(0));
    return read_rest(*data);
  }

  // The kept columns of all batches.
  std::vector<Row> rows() const {
    const absl::StatusOr<std::vector<Batch>> batches = read();
    EXPECT_OK(batches.status());
    std::vector<Row> rows;
    for (const Batch& batch : batches.ok() ? *batches : std::vector<Batch>()) {
      EXPECT_THAT(*batch.kept, SizeIs(2));
      for (const Column& column : *batch.kept) EXPECT_EQ(column.rows, batch.size);
      const std::vector<int64_t> ids = ids_of(batch);
      for (int64_t i = 0; i < batch.size; ++i) {
        rows.push_back({ids[i], cell((*batch.kept)[0], i), cell((*batch.kept)[1], i)});
      }
    }
    return rows;
  }

  // Expects each row with its own keys. Returns: how many there are.
  size_t expect_whole_rows() const {
    const std::vector<Row> all = rows();
    for (const Row& row : all) EXPECT_EQ(row, expected_row(row.id));
    return all.size();
  }

  const std::string dir_;
  DatasetOptions options_;
};

TEST_F(KeptColumnsTest, EveryFormatInTheOrderOfTheFiles) {
  std::vector<Row> expected;
  for (int64_t row = 0; row < kRows; ++row) expected.push_back(expected_row(row));
  for (const auto format : {DataConfig::PARQUET, DataConfig::ORC, DataConfig::CSV}) {
    options_.data.clear_path();
    write(table_of(kRows), format);
    EXPECT_EQ(rows(), expected) << DataConfig::Format_Name(format);
  }
}

TEST_F(KeptColumnsTest, CellsOfDelimitedTextAreText) {
  write(table_of(kRows), DataConfig::CSV);
  ASSERT_OK_AND_ASSIGN(const auto batches, read());
  EXPECT_EQ((*batches[0].kept)[1].type, ValueType::kString) << "day";
}

TEST_F(KeptColumnsTest, RowsThatAreShuffledSplitAndOfOneRank) {
  write(table_of(kRows), DataConfig::PARQUET, "a");
  write(table_of(50, kRows), DataConfig::PARQUET, "b");
  options_.data.set_shuffle_rows(150);
  EXPECT_EQ(expect_whole_rows(), kRows + 50u);
  options_.data.mutable_split()->set_to(0.5);
  const size_t half = expect_whole_rows();
  EXPECT_GT(half, 100u);
  EXPECT_LT(half, 250u);
  options_.world_size = 2;
  size_t of_ranks = 0;
  for (options_.rank = 0; options_.rank < 2; ++options_.rank) of_ranks += expect_whole_rows();
  EXPECT_EQ(of_ranks, half);
}

TEST_F(KeptColumnsTest, BadRowsAreLeftOut) {
  TestTable table = table_of(kRows);
  auto& labels = std::get<TestColumn::Rows<double>>(table.columns[0].rows);
  for (const int64_t row : {7, 150, 151}) labels[row] = {0.5};
  write(table);
  options_.data.set_bad_data(DataConfig::SKIP);
  options_.data.set_max_bad_fraction(0.2);
  EXPECT_EQ(expect_whole_rows(), kRows - 3u);
}

TEST_F(KeptColumnsTest, AFeatureOfTheColumnReadsItToo) {
  keep({"c1", "key"});  // c1 is a list
  TestTable table = table_of(kRows);
  for (TestColumn& column : table.columns) {
    if (column.name != "c1") continue;
    column.is_list = false;
    for (auto& row : std::get<TestColumn::Rows<int64_t>>(column.rows)) row = {12};
  }
  write(table);
  ASSERT_OK_AND_ASSIGN(const auto batches, read());
  for (const Batch& batch : batches) {
    EXPECT_THAT((*batch.kept)[0].int64s, AllOf(SizeIs(batch.size), Each(12)));
    EXPECT_THAT(std::vector<int64_t>(batch.sparse.values.const_data_ptr<int64_t>(),
                                     batch.sparse.values.const_data_ptr<int64_t>() + batch.size),
                Each(12));
  }
}

TEST_F(KeptColumnsTest, WithoutThemThereIsNothing) {
  keep({});
  write(table_of(kRows));
  ASSERT_OK_AND_ASSIGN(const auto batches, read());
  EXPECT_EQ(batches[0].kept, nullptr);
}

TEST_F(KeptColumnsTest, UnknownColumns) {
  keep({"keys"});
  write(table_of(kRows));
  EXPECT_THAT(read(),
              StatusIs(kInvalid, HasSubstr("has no column \"keys\"; did you mean \"key\"?")));
}

TEST_F(KeptColumnsTest, RowsWithSeveralValuesAreRefused) {
  keep({"tags"});
  TestTable table = table_of(kRows);
  TestColumn::Rows<std::string> tags(kRows, {"one"});
  tags[130] = {"one", "two"};
  table.columns.push_back({.name = "tags", .rows = tags, .is_list = true});
  for (const auto format : {DataConfig::PARQUET, DataConfig::ORC}) {
    options_.data.clear_path();
    write(table, format);
    EXPECT_THAT(read(), StatusIs(kInvalid, AllOf(HasSubstr(extension_of(format)),
                                                 HasSubstr("column tags: 2 values"))))
        << DataConfig::Format_Name(format);
  }
}

TEST_F(KeptColumnsTest, ListsInDelimitedTextAreKeptAsTheirText) {
  keep({"tags", "c1"});
  TestTable table = table_of(kRows);
  table.columns.push_back({.name = "tags",
                           .rows = TestColumn::Rows<std::string>(kRows, {"one", "two"}),
                           .is_list = true});
  write(table, DataConfig::CSV);
  ASSERT_OK_AND_ASSIGN(const auto batches, read());
  for (const Batch& batch : batches) {
    for (int64_t i = 0; i < batch.size; ++i) EXPECT_EQ(cell((*batch.kept)[0], i), "one|two");
  }
  const Column& ids = (*batches[0].kept)[1];
  const int64_t* offsets = batches[0].sparse.offsets.const_data_ptr<int64_t>();
  const int64_t* values = batches[0].sparse.values.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < batches[0].size; ++i) {
    std::vector<std::string> list;
    for (int64_t k = offsets[i]; k < offsets[i + 1]; ++k) list.push_back(absl::StrCat(values[k]));
    EXPECT_EQ(cell(ids, i), list.empty() ? "-" : absl::StrJoin(list, "|")) << "a feature, too";
  }
}

TEST_F(KeptColumnsTest, FilesThatCannotBeReadAreLeftOut) {
  write(table_of(kRows), DataConfig::CSV, "a");
  write(table_of(kRows), DataConfig::CSV, "b");
  options_.data.set_bad_data(DataConfig::SKIP);
  options_.data.set_max_bad_fraction(1);
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
  ASSERT_OK(FileSystem::local().remove(dir_ + "/b.csv"));
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_rest(*data));
  int64_t rows = 0;
  for (const Batch& batch : batches) rows += batch.kept->front().rows;
  EXPECT_EQ(rows, kRows);
}

// pandas stores integers as float64 on days with a missing integer.
TEST_F(KeptColumnsTest, FilesWithOtherTypesOfNumbers) {
  write(table_of(kRows), DataConfig::PARQUET, "a");
  const auto write_days = [&](TestColumn::Rows<double> days, const std::string& name) {
    TestTable table = table_of(kRows, kRows);
    table.columns.pop_back();
    table.columns.push_back({.name = "day", .rows = std::move(days)});
    write(table, DataConfig::PARQUET, name);
  };
  TestColumn::Rows<double> days(kRows, {2.5});
  days[0].clear();
  write_days(days, "b");
  write_days(TestColumn::Rows<double>(kRows), "c");  // no value in this file
  options_.data.set_batch_size(3 * kRows);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read());
  const Column& day = (*batches[0].kept)[1];
  ASSERT_EQ(day.type, ValueType::kDouble);
  ASSERT_EQ(day.rows, 3 * kRows);
  EXPECT_EQ(day.doubles[day.begin(4)], 4);
  EXPECT_EQ(day.begin(kRows), day.end(kRows));
  EXPECT_EQ(day.doubles[day.begin(kRows + 1)], 2.5);
  EXPECT_EQ(day.begin(3 * kRows - 1), day.end(3 * kRows - 1));
}

TEST_F(KeptColumnsTest, ANumberThatNoOtherTypeHoldsIsRefused) {
  TestTable table = table_of(kRows);
  table.columns.pop_back();
  table.columns.push_back(
      {.name = "day", .rows = TestColumn::Rows<int64_t>(kRows, {(int64_t{1} << 53) + 1})});
  write(table, DataConfig::PARQUET, "a");
  table.columns.back().rows = TestColumn::Rows<double>(kRows, {0.5});
  write(table, DataConfig::PARQUET, "b");
  EXPECT_THAT(read(), StatusIs(kInvalid, AllOf(HasSubstr("a.parquet, row 0, column day"),
                                               HasSubstr("no float64 exactly"))));
}

TEST_F(KeptColumnsTest, ANumberOfARowThatIsLeftOutDoesNotMatter) {
  TestTable table = table_of(kRows);
  table.columns.pop_back();
  TestColumn::Rows<int64_t> days(kRows, {1});
  days[150] = {(int64_t{1} << 53) + 1};
  table.columns.push_back({.name = "day", .rows = days});
  std::get<TestColumn::Rows<double>>(table.columns[0].rows)[150] = {0.5};  // a label
  write(table, DataConfig::PARQUET, "a");
  table = table_of(kRows, kRows);
  table.columns.back().rows = TestColumn::Rows<double>(kRows, {0.5});
  write(table, DataConfig::PARQUET, "b");
  options_.data.set_bad_data(DataConfig::SKIP);
  options_.data.set_batch_size(2 * kRows);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read());
  const Column& day = (*batches[0].kept)[1];
  ASSERT_EQ(day.rows, 2 * kRows - 1);
  EXPECT_EQ(day.doubles[day.begin(150)], 1);
  EXPECT_EQ(day.doubles[day.begin(kRows)], 0.5);
}

TEST_F(KeptColumnsTest, FilesWithOtherTypes) {
  write(table_of(kRows), DataConfig::PARQUET, "a");
  TestTable table = table_of(kRows);
  table.columns.pop_back();
  table.columns.push_back(
      {.name = "day", .rows = TestColumn::Rows<std::string>(kRows, {"Monday"})});
  write(table, DataConfig::PARQUET, "b");
  EXPECT_THAT(read(), StatusIs(kInvalid, AllOf(HasSubstr("b.parquet, column \"day\" holds text"),
                                               HasSubstr("but integers (int64) in"))));
}

}  // namespace
}  // namespace millrace
