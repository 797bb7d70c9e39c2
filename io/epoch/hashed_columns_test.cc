// Tests of the columns of datasets of files whose type decides ids.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Two rows, in one of which the user is missing.
TestTable table(std::string user) {
  TestColumn::Rows<std::string> texts = {{user}, {}};
  TestTable table;
  table.columns.push_back({.name = "label", .rows = TestColumn::Rows<int64_t>{{0}, {1}}});
  table.columns.push_back({.name = "item", .rows = TestColumn::Rows<int64_t>{{7}, {8}}});
  if (user == "7") {
    table.columns.push_back({.name = "user", .rows = TestColumn::Rows<int64_t>{{7}, {}}});
  } else {
    table.columns.push_back({.name = "user", .rows = std::move(texts)});
  }
  return table;
}

// Returns "NAME CELLS FILE" of each column of the dataset's identity.
absl::StatusOr<std::vector<std::string>> columns_of(const DatasetOptions& options) {
  ASSIGN_OR_RETURN(const auto data, open_dataset(options));
  ASSIGN_OR_RETURN(const DataIdentity identity, data->identity());
  std::vector<std::string> columns;
  for (const DataIdentity::Column& column : identity.column()) {
    columns.push_back(absl::StrCat(column.name(), " ", DataIdentity::Cells_Name(column.cells()),
                                   " ", column.file()));
  }
  return columns;
}

DatasetOptions options_of(const std::string& features, const std::vector<std::string>& paths) {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(features, &config)) << features;
  DatasetOptions options;
  options.schema = *FeatureSchema::create(config);
  options.data.set_batch_size(2);
  for (const std::string& path : paths) options.data.add_path(path);
  return options;
}

constexpr char kHashed[] =
    "feature { name: 'label' kind: LABEL } "
    "feature { name: 'u' column: 'user' transform { hash {} } } "
    "feature { name: 'item' transform { multi_hash { count: 2 divisor: 9 } } } "
    "feature { name: 'u2' column: 'user' transform { hash { seed: 1 } } }";

TEST(HashedColumnsOfFilesTest, EachFormatHasItsTypes) {
  const std::string folder = fresh_test_dir();
  for (const auto format : {DataConfig::PARQUET, DataConfig::ORC, DataConfig::CSV}) {
    for (const std::string user : {"7", "u"}) {
      const std::string name = absl::StrCat("d", user, extension_of(format));
      ASSERT_OK(write_data_file(table(user), format, 0, folder + "/" + name));
      const bool has_types = format != DataConfig::CSV;
      EXPECT_THAT(
          columns_of(options_of(kHashed, {folder + "/" + name})),
          IsOkAndHolds(ElementsAre(
              absl::StrCat("item ", has_types ? "NUMBERS " : "TEXT ", name),
              absl::StrCat("user ", has_types && user == "7" ? "NUMBERS " : "TEXT ", name))));
    }
  }
}

TEST(HashedColumnsOfFilesTest, OtherColumnsDoNotCount) {
  const std::string path = fresh_test_dir() + "/d.csv";
  ASSERT_OK(write_data_file(table("7"), DataConfig::CSV, 0, path));
  EXPECT_THAT(columns_of(options_of(
                  "feature { name: 'label' kind: LABEL } feature { name: 'user' } "
                  "feature { name: 'row' column: 'item' kind: EXAMPLE_ID transform { hash {} } } "
                  "feature { name: 'group' column: 'item' kind: GROUP_ID transform { hash {} } }",
                  {path})),
              IsOkAndHolds(IsEmpty()));
}

TEST(HashedColumnsOfFilesTest, PartitionsAreText) {
  MemoryFileSystem files;
  files.put("in/user=7/a.csv", "label,item\n0,1\n");
  files.put("in/user=8/b.csv", "label,item\n0,1\n");
  DatasetOptions options = options_of(kHashed, {"in/user=7/a.csv", "in/user=8/b.csv"});
  options.files = &files;
  EXPECT_THAT(columns_of(options), IsOkAndHolds(ElementsAre("item TEXT a.csv", "user TEXT a.csv")));
}

// Writes a file of timestamps; returns its path.
std::string write_times(const std::string& folder, const std::string& name,
                        const TestColumn::Rows<int64_t>& times, const std::string& unit,
                        const std::string& zone = "") {
  TestTable table;
  table.columns.push_back({.name = "label", .rows = TestColumn::Rows<int64_t>{{0}, {1}}});
  table.columns.push_back({.name = "ts", .rows = times, .time_unit = unit, .zone = zone});
  const std::string path = folder + "/" + name;
  EXPECT_OK(write_data_file(table, DataConfig::PARQUET, 0, path));
  return path;
}

TEST(TimesOfFilesTest, HaveTheUnitOfTheFirstFileOrOfTraining) {
  const std::string folder = fresh_test_dir();
  const std::string ms = write_times(folder, "a.parquet", {{1000}, {2000}}, "ms"),
                    us = write_times(folder, "b.parquet", {{3'000'000}, {-4'000'001}}, "us"),
                    zoned = write_times(folder, "c.parquet", {{1}, {2}}, "ms", "UTC");
  const auto times_of = [](DatasetOptions options) {
    std::vector<int64_t> times;
    const auto data = open_dataset(options);
    EXPECT_OK(data.status());
    EXPECT_OK((*data)->start_epoch(0));
    while (true) {
      const auto batch = (*data)->next();
      EXPECT_OK(batch.status());
      if (!batch.ok() || !batch->has_value()) return times;
      const int64_t* ids = (*batch)->example_ids.const_data_ptr<int64_t>();
      times.insert(times.end(), ids, ids + (*batch)->size);
    }
  };
  const std::string features =
      "feature { name: 'label' kind: LABEL } feature { name: 'ts' kind: EXAMPLE_ID }";
  DatasetOptions options = options_of(features, {ms, us});
  EXPECT_THAT(times_of(options), ElementsAre(1000, 2000, 3000, -4001));
  options.time_types = {{"ts", "timestamp[s]"}};
  EXPECT_THAT(times_of(options), ElementsAre(1, 2, 3, -5));
  EXPECT_THAT(columns_of(options), IsOkAndHolds(ElementsAre("ts NUMBERS a.parquet")));
  const auto refused = [](const std::string& what) {
    return StatusIs(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(what));
  };
  EXPECT_THAT(open_dataset(options_of(features, {ms, zoned})).status(),
              refused("holds timestamp[ms, tz=UTC], but timestamp[ms] in " + ms));
  DatasetOptions other = options_of(features, {zoned});
  other.time_types = {{"ts", "timestamp[ms]"}};
  EXPECT_THAT(open_dataset(other).status(), refused("but timestamp[ms] in training"));
}

// Checkpoints have them as JSON.
TEST(HashedColumnsOfFilesTest, NamesAreUtf8) {
  MemoryFileSystem files;
  files.put("gr\xf6n.csv", "label,gr\xf6\xdfx,größe\n0,1,2\n");
  DatasetOptions options = options_of(
      "feature { name: 'label' kind: LABEL } "
      "feature { name: 'a' column: 'gr\\xf6\\xdfx' transform { hash {} } } "
      "feature { name: 'b' column: 'größe' transform { hash {} } }",
      {"gr\xf6n.csv"});
  options.files = &files;
  EXPECT_THAT(columns_of(options), IsOkAndHolds(ElementsAre("gr\\xf6\\xdfx TEXT gr\\xf6n.csv",
                                                            "größe TEXT gr\\xf6n.csv")));
}

}  // namespace
}  // namespace millrace
