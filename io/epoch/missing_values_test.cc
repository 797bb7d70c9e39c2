// Values that stand for "missing", from files to batches.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "tests/io_testing/batches.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int kRows = 60;

TrainConfig features() {
  TrainConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(feature {
           name: "label" kind: LABEL missing: MASK transform { missing_values { text: "?" } }
         }
         feature {
           name: "age" kind: DENSE default_value: -5
           transform { missing_values { number: -1 text: "NA" nan: true } }
           transform { standardize { mean: 10 standard_deviation: 2 } }
         }
         feature {
           name: "age_missing" column: "age" kind: DENSE
           transform { missing_values { number: -1 text: "NA" nan: true } }
           transform { is_missing {} }
         }
         feature {
           name: "tags" weight_column: "weights" transform { missing_values { text: "NA" } }
         }
         feature {
           name: "city" default_id: 7
           transform { missing_values { text: "NA" } } transform { hash {} }
         })",
      &config));
  return config;
}

std::string age(int row) {
  const std::vector<std::string> ages = {"12", "NA", "-1", "nan", "", " 14 ", " NA", "9"};
  return ages[row % ages.size()];
}

// Rows [begin, end) as delimited text.
std::string write(const std::string& path, int begin, int end) {
  std::string text = "label,age,tags,weights,city\n";
  for (int row = begin; row < end; ++row) {
    absl::StrAppend(&text, row % 5 == 0 ? "?" : absl::StrCat(row % 2), ",", age(row), ",");
    absl::StrAppend(&text, row, row % 3 == 0 ? "|NA|4" : "|8", ",");
    absl::StrAppend(&text, row % 3 == 0 ? "0.5|9|2" : "1|3", ",");
    absl::StrAppend(&text, row % 4 == 0 ? "NA" : absl::StrCat("city", row % 7), "\n");
  }
  std::ofstream(path) << text;
  return path;
}

absl::StatusOr<std::vector<Batch>> read(const std::vector<std::string>& paths,
                                        const TrainConfig& config) {
  DatasetOptions options;
  ASSIGN_OR_RETURN(options.schema, FeatureSchema::create(config));
  for (const std::string& path : paths) options.data.add_path(path);
  options.data.mutable_csv()->set_list_delimiter("|");
  options.data.set_batch_size(kRows);
  ASSIGN_OR_RETURN(const auto data, open_dataset(options));
  RETURN_IF_ERROR(data->start_epoch(0));
  return read_rest(*data);
}

TEST(MissingValuesTest, TakeTheWayOfMissingValues) {
  const std::string path = write(fresh_test_dir() + "/a.csv", 0, kRows);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read({path}, features()));
  ASSERT_EQ(batches.size(), 1u);
  const Batch& batch = batches[0];
  const float* const dense = batch.dense.const_data_ptr<float>();
  const float* const labels = batch.labels.const_data_ptr<float>();
  const int64_t* const offsets = batch.sparse.offsets.const_data_ptr<int64_t>();
  const int64_t* const ids = batch.sparse.values.const_data_ptr<int64_t>();
  const float* const weights = batch.sparse.weights.const_data_ptr<float>();
  const std::vector<float> ages = {1, -5, -5, -5, -5, 2, -5, -0.5};
  for (int row = 0; row < kRows; ++row) {
    SCOPED_TRACE(row);
    EXPECT_EQ(dense[2 * row], ages[row % 8]);
    EXPECT_EQ(dense[2 * row + 1], ages[row % 8] == -5);
    EXPECT_EQ(labels[row] != labels[row], row % 5 == 0);
    ASSERT_EQ(offsets[row + 1] - offsets[row], 2);
    const int64_t first = offsets[row];
    EXPECT_EQ(ids[first + 1], row % 3 == 0 ? 4 : 8);
    EXPECT_EQ(weights[first + 1], row % 3 == 0 ? 2 : 3);
    EXPECT_EQ(ids[offsets[kRows + row]] == 7, row % 4 == 0);
  }
}

TEST(MissingValuesTest, FilesMayBeCutAnywhere) {
  const std::string dir = fresh_test_dir();
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> whole,
                       read({write(dir + "/a.csv", 0, kRows)}, features()));
  for (const int cut : {1, 3, 17, 59}) {
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Batch> parts,
        read({write(dir + "/b.csv", 0, cut), write(dir + "/c.csv", cut, kRows)}, features()));
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_TRUE(at::equal(parts[0].dense, whole[0].dense)) << cut;
    EXPECT_TRUE(at::equal(parts[0].sparse.offsets, whole[0].sparse.offsets)) << cut;
    EXPECT_TRUE(at::equal(parts[0].sparse.values, whole[0].sparse.values)) << cut;
    EXPECT_TRUE(at::equal(parts[0].sparse.weights, whole[0].sparse.weights)) << cut;
  }
}

// Such a file may be the only one of a window.
TEST(MissingValuesTest, AColumnWithoutValuesFitsAllFields) {
  TestTable table;
  table.columns.push_back({.name = "label", .rows = TestColumn::Rows<double>(kRows, {1})});
  table.columns.push_back({.name = "id", .rows = TestColumn::Rows<int64_t>(kRows)});
  const std::string path = fresh_test_dir() + "/a.parquet";
  ASSERT_OK(write_data_file(table, DataConfig::PARQUET, /*group_rows=*/kRows, path));
  for (const char* field : {"number: -1", "nan: true", "text: 'NA'"}) {
    TrainConfig config;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
        absl::StrCat("feature { name: 'label' kind: LABEL } feature { name: 'id' transform { "
                     "missing_values { ",
                     field, " } } transform { hash {} } }"),
        &config));
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read({path}, config));
    EXPECT_EQ(batches[0].sparse.values.numel(), 0) << field;
  }
}

TEST(MissingValuesTest, OtherTextsAreBadData) {
  TrainConfig config = features();
  config.mutable_feature(1)->mutable_transform(0)->mutable_missing_values()->set_text(0, "N/A");
  EXPECT_THAT(read({write(fresh_test_dir() + "/a.csv", 0, kRows)}, config),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("a.csv, line 3, column age: \"NA\" is not a number; if it stands "
                                 "for a missing value, add it to missing_values.text")));
}

}  // namespace
}  // namespace millrace
