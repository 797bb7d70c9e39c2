// Tests of the rows that DataConfig::SKIP omits, counts and bounds.
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "io/epoch/batch_dataset.h"
#include "io/feature_schema.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct Read {
  std::vector<std::vector<int64_t>> batches;  // example ids
  std::vector<Cursor> cursors;
  std::vector<int64_t> bad;  // examples, with each batch

  int64_t total_bad() const {
    int64_t total = 0;
    for (const int64_t count : bad) total += count;
    return total;
  }
  std::multiset<int64_t> ids() const {
    std::multiset<int64_t> all;
    for (const auto& batch : batches) all.insert(batch.begin(), batch.end());
    return all;
  }
};

class BadDataTest : public testing::Test {
 protected:
  BadDataTest() : dir_(fresh_test_dir()) {
    TrainConfig config = criteo_like_features(2, 3);
    FeatureConfig* row = config.add_feature();
    row->set_name("row");
    row->set_kind(FeatureConfig::EXAMPLE_ID);
    options_.schema = *FeatureSchema::create(config);
    options_.data.set_batch_size(64);
    options_.data.set_bad_data(DataConfig::SKIP);
    options_.data.set_max_bad_fraction(0.2);
    options_.data.mutable_csv()->set_list_delimiter("|");
  }

  std::string write(const std::string& name, const TestTable& table, DataConfig::Format format,
                    int64_t group_rows = 0) {
    const std::string path = absl::StrCat(dir_, "/", name, extension_of(format));
    EXPECT_OK(write_data_file(table, format, group_rows, path));
    options_.data.add_path(path);
    return path;
  }

  static absl::Status read_rest(BatchDataset& data, Read* read) {
    while (true) {
      ASSIGN_OR_RETURN(const auto batch, data.next());
      if (!batch.has_value()) return absl::OkStatus();
      const int64_t* ids = batch->example_ids.const_data_ptr<int64_t>();
      read->batches.emplace_back(ids, ids + batch->size);
      read->cursors.push_back(batch->cursor);
      read->bad.push_back(batch->bad_examples);
    }
  }
  absl::StatusOr<Read> read_all() {
    ASSIGN_OR_RETURN(const auto data, open_dataset(options_));
    Read read;
    RETURN_IF_ERROR(data->start_epoch(0));
    RETURN_IF_ERROR(read_rest(*data, &read));
    return read;
  }

  const std::string dir_;
  DatasetOptions options_;
};

// Rows 7, 107, 207 ... have a label that is none; row 999 too, at the end.
TestTable with_bad_labels() {
  TestTable table = criteo_like_table(1000, 2, 3);
  auto& labels = std::get<TestColumn::Rows<double>>(table.columns[0].rows);
  for (int64_t row = 7; row < 1000; row += 100) labels[row] = {0.5};
  labels[999] = {};
  return table;
}

TEST_F(BadDataTest, ExamplesAreLeftOutAndCountedExactlyInEveryFormat) {
  for (const auto format :
       {DataConfig::CSV, DataConfig::PARQUET, DataConfig::ORC, DataConfig::TFRECORD}) {
    options_.data.clear_path();
    write("bad", with_bad_labels(), format);
    for (const int64_t shuffle_rows : {0, 300}) {
      options_.data.set_shuffle_rows(shuffle_rows);
      options_.reader_threads = 1;
      ASSERT_OK_AND_ASSIGN(const Read one, read_all());
      EXPECT_EQ(one.total_bad(), 11);
      const auto ids = one.ids();
      EXPECT_EQ(ids.size(), 989u);
      EXPECT_EQ(ids.count(107), 0u);
      EXPECT_EQ(ids.count(999), 0u);
      EXPECT_EQ(ids.count(108), 1u);
      options_.reader_threads = 4;
      ASSERT_OK_AND_ASSIGN(const Read four, read_all());
      EXPECT_EQ(four.batches, one.batches);
      EXPECT_EQ(four.bad, one.bad);
    }
  }
}

TEST_F(BadDataTest, TheLimitIsThatOfAnEpochWhereverItIsContinued) {
  write("bad", with_bad_labels(), DataConfig::CSV);
  ASSERT_OK_AND_ASSIGN(const Read whole, read_all());
  options_.data.set_max_bad_fraction(0.0101);
  EXPECT_THAT(read_all().status(), StatusIs(absl::StatusCode::kDataLoss));
  for (const Cursor& cursor : whole.cursors) {
    for (const double limit : {0.0101, 0.011}) {
      options_.data.set_max_bad_fraction(limit);
      ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
      ASSERT_OK(data->seek({&cursor, 1}));
      Read rest;
      EXPECT_EQ(read_rest(*data, &rest).ok(), limit == 0.011) << cursor.bad_rows;
    }
  }
}

TEST_F(BadDataTest, GoingOnFromACursorCountsWhatIsLeft) {
  write("bad", with_bad_labels(), DataConfig::CSV);
  options_.data.set_shuffle_rows(250);
  ASSERT_OK_AND_ASSIGN(const Read whole, read_all());
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
  int64_t before = 0;
  for (size_t i = 0; i < whole.cursors.size(); ++i) {
    before += whole.bad[i];
    ASSERT_OK(data->seek({&whole.cursors[i], 1}));
    Read rest;
    ASSERT_OK(read_rest(*data, &rest));
    EXPECT_EQ(rest.batches.size(), whole.batches.size() - i - 1);
    EXPECT_EQ(before + rest.total_bad(), 11) << i;
  }
}

TEST_F(BadDataTest, WithoutThePolicyTheyAreErrors) {
  write("bad", with_bad_labels(), DataConfig::CSV);
  options_.data.clear_bad_data();
  EXPECT_THAT(read_all(), StatusIs(absl::StatusCode::kDataLoss,
                                   AllOf(HasSubstr("bad.csv, line 9"), HasSubstr("label 0.5"))));
}

TEST_F(BadDataTest, MoreThanTheBoundIsAnError) {
  write("bad", with_bad_labels(), DataConfig::CSV);
  options_.data.set_max_bad_fraction(0.011);
  EXPECT_OK(read_all());
  options_.data.set_max_bad_fraction(0.0101);
  EXPECT_THAT(read_all(), StatusIs(absl::StatusCode::kDataLoss,
                                   AllOf(HasSubstr("11 examples are bad data, more than 10"),
                                         HasSubstr("bad.csv, line"))));
}

TEST_F(BadDataTest, LinesAndRecordsThatAreDamaged) {
  const std::string text = write("lines", criteo_like_table(300, 2, 3), DataConfig::CSV);
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(FileSystem::local(), text));
  bytes += "1,2,3\n";
  ASSERT_OK(write_file_atomically(FileSystem::local(), text, bytes));
  ASSERT_OK_AND_ASSIGN(const Read lines, read_all());
  EXPECT_EQ(lines.total_bad(), 1);
  EXPECT_EQ(lines.ids().size(), 300u);

  options_.data.clear_path();
  const std::string records = write("records", criteo_like_table(300, 2, 3), DataConfig::TFRECORD);
  ASSERT_OK_AND_ASSIGN(bytes, read_file(FileSystem::local(), records));
  bytes[20] ^= 1;
  ASSERT_OK(write_file_atomically(FileSystem::local(), records, bytes));
  ASSERT_OK_AND_ASSIGN(const Read left, read_all());
  EXPECT_EQ(left.total_bad(), 1);
  EXPECT_EQ(left.ids().count(0), 0u);
}

TEST_F(BadDataTest, RowGroupsThatCannotBeReadAreLeftOutAsAWhole) {
  const std::string path = write("groups", criteo_like_table(2000, 2, 3), DataConfig::PARQUET, 250);
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(FileSystem::local(), path));
  // The first page of the first column, its header included.
  bytes.replace(4, 40, std::string(40, '\xff'));
  ASSERT_OK(write_file_atomically(FileSystem::local(), path, bytes));
  ASSERT_OK_AND_ASSIGN(const Read left, read_all());
  EXPECT_EQ(left.total_bad(), 250);
  const auto ids = left.ids();
  EXPECT_EQ(ids.size(), 1750u);
  EXPECT_EQ(*ids.begin(), 250);
}

TEST_F(BadDataTest, FilesThatCannotBeOpenedAreLeftOut) {
  write("a", criteo_like_table(100, 2, 3), DataConfig::PARQUET);
  const std::string bad = write("b", criteo_like_table(100, 2, 3, 100), DataConfig::PARQUET);
  write("c", criteo_like_table(100, 2, 3, 200), DataConfig::PARQUET);
  ASSERT_OK(write_file_atomically(FileSystem::local(), bad, "PAR1 no more"));
  options_.data.set_max_bad_fraction(0.3);
  EXPECT_THAT(read_all(), StatusIs(absl::StatusCode::kDataLoss,
                                   AllOf(HasSubstr("1 of 3 files"), HasSubstr(bad))));
  options_.data.set_max_bad_fraction(0.34);
  ASSERT_OK_AND_ASSIGN(const Read left, read_all());
  EXPECT_EQ(left.ids().size(), 200u);
  EXPECT_EQ(left.total_bad(), 0) << "nobody knows how many examples it had";
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options_));
  EXPECT_EQ(data->files().size(), 3u) << "it keeps its place";
}

TEST_F(BadDataTest, AFileOfAnotherSchemaIsLeftOutToo) {
  write("a", criteo_like_table(100, 2, 3), DataConfig::ORC);
  write("b", criteo_like_table(100, 1, 3, 100), DataConfig::ORC);
  options_.data.set_max_bad_fraction(0.5);
  ASSERT_OK_AND_ASSIGN(const Read left, read_all());
  EXPECT_EQ(left.ids().size(), 100u);
  options_.data.clear_bad_data();
  EXPECT_THAT(read_all(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"i2\"")));
}

}  // namespace
}  // namespace millrace
