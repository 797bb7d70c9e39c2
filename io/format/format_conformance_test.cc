// One content in every format gives the same batches.
#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "tests/io_testing/batches.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

constexpr int64_t kRows = 3000;
constexpr int kDense = 4, kSparse = 6;

struct Case {
  std::string name;
  DataConfig::Format format;
  std::string extension;
  bool text = true;
  bool quotes = false;  // text that delimited text quotes
};

// Numbers exact in float32, the type of TFRecord; ids from text if the case has it.
TestTable content(const Case& format) {
  TestTable table = criteo_like_table(kRows, kDense, kSparse);
  for (TestColumn& column : table.columns) {
    auto* rows = std::get_if<TestColumn::Rows<double>>(&column.rows);
    if (rows == nullptr) continue;
    for (auto& row : *rows) {
      for (double& value : row) value = static_cast<float>(value);
    }
  }
  if (!format.text) return table;
  TestColumn::Rows<std::string> texts(kRows);
  for (int64_t row = 0; row < kRows; ++row) {
    for (int64_t k = 0; k < row % 3; ++k) {
      texts[row].push_back(absl::StrCat(format.quotes ? "\"w,\r\n" : "w", row * k % 77));
    }
  }
  table.columns.push_back({"text", texts, true});
  return table;
}

const std::vector<Case> kCases = {{"Parquet", DataConfig::PARQUET, ".parquet"},
                                  {"Orc", DataConfig::ORC, ".orc"},
                                  {"Csv", DataConfig::CSV, ".csv"},
                                  {"QuotedCsv", DataConfig::CSV, ".csv", true, true},
                                  {"TfRecord", DataConfig::TFRECORD, ".tfrecord"},
                                  {"CompressedTfRecord", DataConfig::TFRECORD, ".tfrecord.gz"},
                                  {"Libsvm", DataConfig::LIBSVM, ".libsvm", false}};

class FormatConformanceTest : public testing::TestWithParam<Case> {
 protected:
  // A dataset of `table`, written in that format, with two files of unequal length.
  std::unique_ptr<BatchDataset> open(const TestTable& table, const Case& format,
                                     int64_t shuffle_rows, int threads, int64_t batch_size = 177) {
    DatasetOptions options;
    for (const int64_t part : {0, 1}) {
      const std::string path =
          absl::StrCat(testing::TempDir(), "/", format.name, part, format.extension);
      EXPECT_OK(write_data_file(slice(table, part * 1000, part == 0 ? 1000 : kRows), format.format,
                                0, path));
      options.data.add_path(path);
    }
    options.data.mutable_csv()->set_list_delimiter("|");
    options.data.mutable_libsvm()->set_fields(static_cast<int64_t>(table.columns.size()) - 1);
    options.data.set_batch_size(batch_size);
    options.data.set_shuffle_rows(shuffle_rows);
    options.reader_threads = threads;
    options.schema = *FeatureSchema::create(features(table, format.format));
    auto data = open_dataset(options);
    EXPECT_OK(data);
    return *std::move(data);
  }

  static TestTable slice(const TestTable& table, int64_t begin, int64_t end) {
    TestTable part;
    for (const TestColumn& column : table.columns) {
      part.columns.push_back(column);
      std::visit(
          [&](auto& rows) {
            rows.erase(rows.begin() + end, rows.end());
            rows.erase(rows.begin(), rows.begin() + begin);
          },
          part.columns.back().rows);
    }
    return part;
  }

  static TrainConfig features(const TestTable& table, DataConfig::Format format) {
    TrainConfig config = criteo_like_features(kDense, kSparse);
    FeatureConfig* row = config.add_feature();
    row->set_name("row");
    row->set_kind(FeatureConfig::EXAMPLE_ID);
    if (table.columns.back().name == "text") {
      FeatureConfig* text = config.add_feature();
      text->set_name("text");
      text->add_transform()->mutable_hash();
    }
    if (format != DataConfig::LIBSVM) return config;
    for (FeatureConfig& feature : *config.mutable_feature()) {
      for (size_t c = 1; c < table.columns.size(); ++c) {
        if (table.columns[c].name != feature.name()) continue;
        const bool ids = std::holds_alternative<TestColumn::Rows<int64_t>>(table.columns[c].rows);
        feature.set_column(absl::StrCat(ids ? "index_" : "value_", c - 1));
      }
    }
    return config;
  }

  static std::vector<std::string> batches(BatchDataset& data) {
    std::vector<std::string> all;
    const auto rest = read_rest(data);
    EXPECT_OK(rest);
    for (const Batch& batch : rest.value_or(std::vector<Batch>())) all.push_back(bytes_of(batch));
    return all;
  }
};

TEST_P(FormatConformanceTest, TheSameBatchesAsParquet) {
  const TestTable table = content(GetParam());
  const Case parquet{"Parquet", DataConfig::PARQUET, ".parquet"};
  for (const int64_t shuffle_rows : {0, 500, 5000}) {
    const auto expected = open(table, parquet, shuffle_rows, 1);
    ASSERT_OK(expected->start_epoch(1));
    const std::vector<std::string> right = batches(*expected);
    ASSERT_EQ(right.size(), (kRows + 176) / 177);
    for (const int threads : {1, 4}) {
      const auto data = open(table, GetParam(), shuffle_rows, threads);
      ASSERT_OK(data->start_epoch(1));
      EXPECT_TRUE(batches(*data) == right) << "shuffle_rows " << shuffle_rows;
    }
  }
}

// 500 batches, with a resume after each.
void continues_behind_every_batch(BatchDataset& data) {
  ASSERT_OK(data.start_epoch(3));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> right, read_rest(data));
  ASSERT_EQ(right.size(), 500u);
  for (size_t i = 0; i < right.size(); ++i) {
    SCOPED_TRACE(absl::StrCat("behind batch ", i));
    ASSERT_NO_FATAL_FAILURE(
        expect_rest(data, right[i].cursor, absl::MakeSpan(right).subspan(i + 1)));
  }
}

TEST_P(FormatConformanceTest, ContinuesExactlyBehindEveryBatch) {
  continues_behind_every_batch(*open(content(GetParam()), GetParam(), 0, 1, kRows / 500));
}
TEST_P(FormatConformanceTest, ContinuesExactlyBehindEveryBatchShuffled) {
  continues_behind_every_batch(*open(content(GetParam()), GetParam(), 700, 1, kRows / 500));
}
TEST_P(FormatConformanceTest, ContinuesExactlyBehindEveryBatchWithFourThreads) {
  continues_behind_every_batch(*open(content(GetParam()), GetParam(), 0, 4, kRows / 500));
}
TEST_P(FormatConformanceTest, ContinuesExactlyBehindEveryBatchShuffledWithFourThreads) {
  continues_behind_every_batch(*open(content(GetParam()), GetParam(), 700, 4, kRows / 500));
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatConformanceTest, testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace millrace
