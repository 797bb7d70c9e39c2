#include "io/epoch/batch_dataset.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/forwarding_file_system.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "tests/environment/skip.h"
#include "tests/io_testing/batches.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int kDense = 3;
constexpr int kSparse = 4;

DatasetOptions options_for(std::vector<std::string> paths) {
  DatasetOptions options;
  options.schema = *FeatureSchema::create(criteo_like_features(kDense, kSparse));
  for (std::string& path : paths) options.data.add_path(std::move(path));
  options.data.set_batch_size(17);
  return options;
}

// Three files of different sizes with row groups of 30 rows: 300 rows.
std::string write_files(DataConfig::Format format = DataConfig::PARQUET) {
  const std::string dir = fresh_test_dir();
  int64_t first = 0;
  for (const int64_t rows : {100, 7, 193}) {
    const std::string path = absl::StrCat(dir, "/", first, extension_of(format));
    const absl::Status status =
        write_data_file(criteo_like_table(rows, kDense, kSparse, first), format, 30, path);
    EXPECT_OK(status);
    first += rows;
  }
  return dir;
}

absl::StatusOr<std::vector<Batch>> read_epoch(const DatasetOptions& options, int64_t epoch = 0) {
  ASSIGN_OR_RETURN(const auto data, open_dataset(options));
  RETURN_IF_ERROR(data->start_epoch(epoch));
  return read_rest(*data);
}

std::vector<int64_t> ids_of(const std::vector<Batch>& batches) {
  std::vector<int64_t> ids;
  for (const Batch& batch : batches) {
    for (const int64_t id : ids_of(batch)) ids.push_back(id);
  }
  return ids;
}

TEST(BatchDatasetTest, ReadsRealOrcInOrder) {
  const std::string dir = real_data_dir();
  if (dir.empty()) GTEST_SKIP() << skip_not_provided("MILLRACE_DATA", "no real data");
  DatasetOptions options = options_for({dir + "/criteo_orc/part-*.orc"});
  options.schema = *FeatureSchema::create(criteo_like_features(13, 26));
  options.data.set_batch_size(512);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
  int64_t rows = 0;
  double positives = 0;
  for (const Batch& batch : batches) {
    for (const int64_t id : ids_of(batch)) {
      ASSERT_EQ(id, (rows / 10000) << 40 | (rows % 10000));
      ++rows;
    }
    ASSERT_EQ(batch.dense.size(1), 13);
    ASSERT_EQ(batch.sparse.offsets.numel(), 26 * batch.size + 1);
    for (int64_t i = 0; i < batch.size; ++i) positives += batch.labels.const_data_ptr<float>()[i];
  }
  EXPECT_EQ(rows, 60000);
  EXPECT_NEAR(positives / rows, 0.03, 0.005);
}

// Makes ids small enough for doubles, and converts them if `doubles`, as pandas does where some are
// missing.
void store_ids(TestTable& table, bool doubles) {
  for (TestColumn& column : table.columns) {
    auto* ids = std::get_if<TestColumn::Rows<int64_t>>(&column.rows);
    if (ids == nullptr) continue;
    TestColumn::Rows<double> numbers;
    for (std::vector<int64_t>& row : *ids) {
      for (int64_t& id : row) id %= int64_t{1} << 50;
      numbers.emplace_back(row.begin(), row.end());
    }
    if (doubles) column.rows = std::move(numbers);
  }
}

// Integers in some files and doubles in others, in any order, give what integers in all give.
TEST(BatchDatasetTest, NumbersMayHaveAnotherTypeInEachFile) {
  const std::string dir = fresh_test_dir();
  std::vector<std::string> ints, doubles;
  for (const int64_t file : {0, 1, 2}) {
    TestTable table = criteo_like_table(50, kDense, kSparse, 50 * file);
    store_ids(table, /*doubles=*/false);
    ints.push_back(absl::StrCat(dir, "/i", file, ".parquet"));
    doubles.push_back(absl::StrCat(dir, "/d", file, ".parquet"));
    ASSERT_OK(write_data_file(table, DataConfig::PARQUET, 30, ints.back()));
    store_ids(table, /*doubles=*/true);
    ASSERT_OK(write_data_file(table, DataConfig::PARQUET, 30, doubles.back()));
  }
  TrainConfig hashed = criteo_like_features(kDense, kSparse);
  for (FeatureConfig& feature : *hashed.mutable_feature()) {
    if (feature.kind() == FeatureConfig::SPARSE) feature.add_transform()->mutable_hash();
  }
  for (const TrainConfig& features : {criteo_like_features(kDense, kSparse), hashed}) {
    const auto read = [&](std::vector<std::string> paths) {
      DatasetOptions options = options_for(std::move(paths));
      options.schema = *FeatureSchema::create(features);
      options.data.set_shuffle_rows(1000);
      const absl::StatusOr<std::vector<Batch>> batches = read_epoch(options);
      EXPECT_OK(batches);
      std::string bytes;
      for (const Batch& batch : batches.value_or(std::vector<Batch>())) bytes += bytes_of(batch);
      return bytes;
    };
    const std::string right = read(ints);
    ASSERT_FALSE(right.empty());
    EXPECT_TRUE(read({doubles[0], ints[1], ints[2]}) == right) << "doubles first";
    EXPECT_TRUE(read({ints[0], ints[1], doubles[2]}) == right) << "doubles last";
    EXPECT_TRUE(read(doubles) == right) << "doubles alone";
  }
}

// The conformance suite: the same content in every format gives the same batches.
TEST(BatchDatasetTest, EveryFormatGivesTheSameBatches) {
  const TestTable table = criteo_like_table(500, kDense, kSparse);
  const std::string dir = fresh_test_dir();
  std::vector<std::string> first;
  for (const DataConfig::Format format : {DataConfig::ORC, DataConfig::PARQUET, DataConfig::CSV}) {
    const std::string path = absl::StrCat(dir, "/data", extension_of(format));
    ASSERT_OK(write_data_file(table, format, 0, path));
    for (const int64_t shuffle_rows : {0, 1000}) {
      DatasetOptions options = options_for({path});
      options.data.mutable_csv()->set_list_delimiter("|");
      options.data.set_shuffle_rows(shuffle_rows);
      ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
      std::string bytes;
      for (const Batch& batch : batches) bytes += bytes_of(batch);
      if (format == DataConfig::ORC) {
        first.push_back(bytes);
      } else {
        EXPECT_EQ(bytes, first[shuffle_rows > 0]) << DataConfig::Format_Name(format);
      }
    }
  }
}

TEST(BatchDatasetTest, BatchesHoldWhatTheFilesHold) {
  const std::string dir = write_files();
  DatasetOptions options = options_for({dir + "/0.parquet", dir + "/100.parquet"});
  TrainConfig features = criteo_like_features(kDense, kSparse);
  features.mutable_feature(1)->clear_transform();
  options.schema = *FeatureSchema::create(features);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
  const TestTable table = criteo_like_table(107, kDense, kSparse);
  const auto& dense = std::get<TestColumn::Rows<double>>(table.columns[2].rows);
  const auto& sparse = std::get<TestColumn::Rows<int64_t>>(table.columns[2 + kDense + 2].rows);
  int64_t row = 0;
  for (const Batch& batch : batches) {
    EXPECT_EQ(batch.size, std::min<int64_t>(17, 107 - row));
    const int64_t* offsets = batch.sparse.offsets.const_data_ptr<int64_t>() + 2 * batch.size;
    const int64_t* values = batch.sparse.values.const_data_ptr<int64_t>();
    for (int64_t i = 0; i < batch.size; ++i, ++row) {
      EXPECT_EQ(batch.dense.const_data_ptr<float>()[i * kDense],
                dense[row].empty() ? 0.0f : static_cast<float>(dense[row][0]));
      EXPECT_EQ(std::vector<int64_t>(values + offsets[i], values + offsets[i + 1]), sparse[row]);
    }
  }
  EXPECT_EQ(row, 107);
}

TEST(BatchDatasetTest, ShuffleHoldsEveryRowOnceAndDependsOnSeedAndEpoch) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> plain, read_epoch(options));
  const std::vector<int64_t> expected = ids_of(plain);
  EXPECT_TRUE(std::is_sorted(expected.begin(), expected.end()));
  EXPECT_EQ(expected.size(), 300u);
  std::set<std::vector<int64_t>> orders = {expected};
  for (const int64_t shuffle_rows : {1, 50, 100000}) {
    options.data.set_shuffle_rows(shuffle_rows);
    for (const uint64_t seed : {1, 2}) {
      options.seed = seed;
      for (const int64_t epoch : {0, 1}) {
        ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options, epoch));
        ASSERT_OK_AND_ASSIGN(const std::vector<Batch> again, read_epoch(options, epoch));
        std::vector<int64_t> ids = ids_of(batches);
        EXPECT_EQ(ids, ids_of(again));
        EXPECT_TRUE(orders.insert(ids).second) << "the same order twice";
        std::sort(ids.begin(), ids.end());
        EXPECT_EQ(ids, expected);
      }
    }
  }
}

TEST(BatchDatasetTest, RestoringAtEveryBatchGivesTheRestByteForByte) {
  const std::string files = write_files() + "/*.parquet";
  for (const int64_t shuffle_rows : {0, 64}) {
    for (const double split : {1.0, 0.6}) {
      DatasetOptions options = options_for({files});
      options.data.set_shuffle_rows(shuffle_rows);
      options.data.mutable_split()->set_to(split);
      ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options, 3));
      for (const int threads : {1, 4}) {
        options.reader_threads = threads;
        options.prefetch_batches = threads;
        ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
        for (size_t i = 0; i < batches.size(); ++i) {
          SCOPED_TRACE(absl::StrCat("from ", i, " on"));
          ASSERT_NO_FATAL_FAILURE(
              expect_rest(*data, batches[i].cursor, absl::MakeSpan(batches).subspan(i + 1)));
        }
      }
    }
  }
}

TEST(BatchDatasetTest, AnotherWorldSizeTrainsEveryExampleOnce) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  options.data.set_shuffle_rows(50);
  options.data.set_batch_size(7);
  std::vector<int64_t> all;
  std::vector<Cursor> cursors;
  const std::vector<std::pair<int64_t, int64_t>> lives = {
      {3, 2}, {2, 6}, {2, 3}, {5, 1}, {1, 1000}};
  for (const auto& [world_size, batches] : lives) {
    std::vector<Cursor> next_cursors;
    for (int64_t rank = 0; rank < world_size; ++rank) {
      options.rank = rank;
      options.world_size = world_size;
      ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
      ASSERT_OK(cursors.empty() ? data->start_epoch(2) : data->seek(cursors));
      Cursor cursor;
      for (int64_t i = 0; i < batches; ++i) {
        ASSERT_OK_AND_ASSIGN(const std::optional<Batch> batch, data->next());
        if (!batch.has_value()) break;
        for (const int64_t id : ids_of(*batch)) all.push_back(id);
        cursor = batch->cursor;
      }
      next_cursors.push_back(cursor);
    }
    cursors = next_cursors;
  }
  EXPECT_EQ(all.size(), 300u);
  EXPECT_EQ(std::set<int64_t>(all.begin(), all.end()).size(), 300u);
}

TEST(BatchDatasetTest, RanksShareEqually) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  options.data.set_shuffle_rows(1000);
  options.world_size = 4;
  std::set<int64_t> all;
  for (options.rank = 0; options.rank < 4; ++options.rank) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
    const std::vector<int64_t> ids = ids_of(batches);
    EXPECT_EQ(ids.size(), 75u);
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(all.size(), 300u);
}

TEST(BatchDatasetTest, SplitsShareNothingAndLeaveNothingOut) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  options.data.set_shuffle_rows(100);
  std::set<int64_t> all;
  size_t total = 0;
  for (const double from : {0.0, 0.25, 0.5, 0.75}) {
    options.data.mutable_split()->set_from(from);
    options.data.mutable_split()->set_to(from + 0.25);
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
    const std::vector<int64_t> ids = ids_of(batches);
    EXPECT_GT(ids.size(), 40u);
    total += ids.size();
    all.insert(ids.begin(), ids.end());
  }
  EXPECT_EQ(total, 300u);
  EXPECT_EQ(all.size(), 300u);
}

TEST(BatchDatasetTest, SplitByTheOrderOfAColumnThatIsNoFeature) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  options.data.mutable_split()->set_by(SplitConfig::ORDER_OF_COLUMN);
  options.data.mutable_split()->set_column("row");
  options.data.mutable_split()->set_from(90);
  options.data.mutable_split()->set_to(110);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
  EXPECT_EQ(ids_of(batches).size(), 20u);
}

TEST(BatchDatasetTest, DropsTheRemainder) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  options.data.set_drop_remainder(true);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
  EXPECT_EQ(batches.size(), 300u / 17);
  for (const Batch& batch : batches) EXPECT_EQ(batch.size, 17);
}

TEST(BatchDatasetTest, ExampleIdsWeightsAndGroupsFromColumns) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  TrainConfig features = criteo_like_features(kDense, kSparse);
  auto add = [&features](const char* name, const char* column, FeatureConfig::Kind kind) {
    FeatureConfig* feature = features.add_feature();
    feature->set_name(name);
    feature->set_column(column);
    feature->set_kind(kind);
  };
  add("id", "row", FeatureConfig::EXAMPLE_ID);
  add("w", "row", FeatureConfig::WEIGHT);
  add("g", "c1", FeatureConfig::GROUP_ID);
  options.schema = *FeatureSchema::create(features);
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
  int64_t row = 0;
  for (const Batch& batch : batches) {
    for (int64_t i = 0; i < batch.size; ++i, ++row) {
      EXPECT_EQ(batch.example_ids.const_data_ptr<int64_t>()[i], row);
      EXPECT_EQ(batch.weights.const_data_ptr<float>()[i], row);
      EXPECT_EQ(batch.group_ids.const_data_ptr<int64_t>()[i],
                batch.sparse.values.const_data_ptr<int64_t>()[i]);  // c1 comes first
    }
  }
}

TEST(BatchDatasetTest, RefusesCursorsThatDoNotFit) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
  auto fails = [&](const std::vector<Cursor>& cursors, const std::string& what) {
    EXPECT_THAT(data->seek(cursors), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  fails({}, "no cursors");
  const auto at = [](RowInterval left) { return std::vector<RowInterval>{left}; };
  fails({{.epoch = 0, .left = at({0, 301})}}, "do not fit");
  fails({{.epoch = 0}, {.epoch = 1}}, "of one");
  fails({{.epoch = 0, .left = at({0, 3}), .fingerprint = 1}}, "changed");
  fails({{.epoch = 0, .left = MixPosition()}}, "of mixed data");
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK_AND_ASSIGN(const std::optional<Batch> batch, data->next());
  options.data.set_shuffle_rows(5);
  ASSERT_OK_AND_ASSIGN(const auto other, open_dataset(options));
  EXPECT_THAT(other->seek({batch->cursor}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(BatchDatasetTest, OpensWithClearErrors) {
  const std::string dir = write_files();
  auto fails = [](const DatasetOptions& options, absl::StatusCode code, const std::string& what) {
    EXPECT_THAT(open_dataset(options), StatusIs(code, HasSubstr(what)));
  };
  DatasetOptions options = options_for({dir + "/0.parquet"});
  options.data.set_batch_size(0);
  fails(options, absl::StatusCode::kInvalidArgument, "batch_size is 0");
  options = options_for({dir + "/0.parquet"});
  options.reader_threads = 0;
  fails(options, absl::StatusCode::kInvalidArgument, "reader_threads is 0");
  options = options_for({dir + "/0.parquet"});
  options.rank = 1;
  fails(options, absl::StatusCode::kInvalidArgument, "rank 1 of 1");
  fails(options_for({dir + "/none.parquet"}), absl::StatusCode::kNotFound, "none.parquet");
  fails(options_for({dir}), absl::StatusCode::kInvalidArgument, "is a directory");

  options = options_for({dir + "/0.parquet"});
  TrainConfig features = criteo_like_features(kDense, kSparse);
  features.mutable_feature(1)->set_column("i11");
  options.schema = *FeatureSchema::create(features);
  fails(options, absl::StatusCode::kInvalidArgument, "no column \"i11\"");
  features.mutable_feature(1)->set_column("i1");
  features.mutable_feature(1)->set_kind(FeatureConfig::SPARSE);
  features.mutable_feature(1)->clear_default_value();
  options.schema = *FeatureSchema::create(features);
  fails(options, absl::StatusCode::kInvalidArgument,
        "0.parquet: feature \"i1\" from column \"i1\"");
}

// A file whose label column is `labels` and whose other columns are fine.
DatasetOptions with_labels(std::vector<std::vector<double>> labels) {
  TestTable table = criteo_like_table(labels.size(), kDense, kSparse);
  table.columns[0].rows = labels;
  const std::string path = fresh_test_dir() + "/bad.parquet";
  EXPECT_OK(write_data_file(table, DataConfig::PARQUET, 0, path));
  return options_for({path});
}

TEST(BatchDatasetTest, BadRowsEndTheEpochInTheirTurn) {
  std::vector<std::vector<double>> labels(40, {1});
  labels[35] = {2};
  DatasetOptions options = with_labels(labels);
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
  ASSERT_OK(data->start_epoch(0));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kDataLoss,
                                       HasSubstr("bad.parquet, row 35, column label: label 2")));
  }
  options.labels = LabelRange::kAny;
  EXPECT_OK(read_epoch(options));
  labels[35] = {};
  EXPECT_THAT(read_epoch(with_labels(labels)),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 35, column label: no value")));
}

TEST(BatchDatasetTest, RangesOfSingleLabels) {
  std::vector<std::vector<double>> labels(40, {1});
  labels[35] = {2};
  DatasetOptions options = with_labels(labels);
  options.labels_of["label"] = LabelRange::kNotNegative;
  EXPECT_OK(read_epoch(options));
  options.labels_of["label"] = LabelRange::kProbability;
  options.labels = LabelRange::kAny;
  EXPECT_THAT(read_epoch(options),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("row 35, column label: label 2")));
}

TEST(BatchDatasetTest, EpochsMayBeginAtAnyTime) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  options.prefetch_batches = 1;
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
  EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(data->rows(), 300);
  EXPECT_EQ(data->files().size(), 3u);
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK(data->start_epoch(i));
    for (int k = 0; k < i; ++k) ASSERT_OK(data->next());
  }
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_rest(*data));
  EXPECT_EQ(ids_of(batches).size(), 300u);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::optional<Batch> end, data->next());
    EXPECT_FALSE(end.has_value());
  }
}

TEST(BatchDatasetTest, CancelIsForGood) {
  DatasetOptions options = options_for({write_files() + "/*.parquet"});
  ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
  ASSERT_OK(data->start_epoch(0));
  ASSERT_OK(data->next());
  std::thread([&] { data->cancel(); }).join();
  EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(data->start_epoch(1), StatusIs(absl::StatusCode::kCancelled));
  EXPECT_THAT(data->next(), StatusIs(absl::StatusCode::kCancelled));
}

TEST(BatchDatasetTest, DataToPredictFromMayLackLabelsAndWeights) {
  const std::string dir = fresh_test_dir();
  TestTable table = criteo_like_table(40, kDense, kSparse);
  std::string paths[2] = {dir + "/with.orc", dir + "/without.orc"};
  ASSERT_OK(write_data_file(table, DataConfig::ORC, 0, paths[0]));
  table.columns.erase(table.columns.begin());  // the label
  ASSERT_OK(write_data_file(table, DataConfig::ORC, 0, paths[1]));
  TrainConfig features = criteo_like_features(kDense, kSparse);
  FeatureConfig& weight = *features.add_feature();
  weight.set_name("importance");
  weight.set_kind(FeatureConfig::WEIGHT);

  DatasetOptions options = options_for({paths[1]});
  options.schema = *FeatureSchema::create(features);
  EXPECT_THAT(open_dataset(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no column \"label\"")));
  options.labels_may_miss = true;
  ASSERT_OK_AND_ASSIGN(const auto bare, open_dataset(options));
  *options.data.mutable_path(0) = paths[0];
  ASSERT_OK_AND_ASSIGN(const auto labelled, open_dataset(options));
  ASSERT_OK(bare->start_epoch(0));
  ASSERT_OK(labelled->start_epoch(0));
  int64_t rows = 0;
  while (true) {
    ASSERT_OK_AND_ASSIGN(const auto without, bare->next());
    ASSERT_OK_AND_ASSIGN(const auto with, labelled->next());
    ASSERT_EQ(without.has_value(), with.has_value());
    if (!with.has_value()) break;
    rows += with->size;
    EXPECT_EQ(ids_of(*without), ids_of(*with));
    EXPECT_TRUE(at::equal(without->dense, with->dense));
    EXPECT_TRUE(at::equal(without->sparse.values, with->sparse.values));
    EXPECT_EQ(without->labels.sizes(), with->labels.sizes());
    EXPECT_TRUE(at::isnan(without->labels).all().item<bool>());
    EXPECT_FALSE(at::isnan(with->labels).any().item<bool>());
    EXPECT_FALSE(with->weights.defined());
  }
  EXPECT_EQ(rows, 40);

  // Files must be alike.
  options.data.add_path(paths[1]);
  EXPECT_THAT(open_dataset(options), StatusIs(absl::StatusCode::kInvalidArgument,
                                              HasSubstr("without.orc has no column \"label\"")));
  // Anything else is needed.
  options = options_for({paths[0]});
  features.mutable_feature(1)->set_column("missing");
  options.schema = *FeatureSchema::create(features);
  options.labels_may_miss = true;
  EXPECT_THAT(open_dataset(options),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has no column \"missing\"")));
}

// A row group of three units, read in and out of order, by 1 and by 4 threads.
TEST(BatchDatasetTest, GoesOnWithinLargeRowGroups) {
  const std::string path = fresh_test_dir() + "/large.parquet";
  ASSERT_OK(
      write_data_file(criteo_like_table(40000, kDense, kSparse), DataConfig::PARQUET, 0, path));
  DatasetOptions options = options_for({path});
  options.data.set_batch_size(1000);
  for (const int64_t shuffle_rows : {0, 15000}) {
    options.data.set_shuffle_rows(shuffle_rows);
    options.reader_threads = 1;
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> right, read_epoch(options, 2));
    std::vector<int64_t> ids = ids_of(right);
    std::sort(ids.begin(), ids.end());
    for (int64_t i = 0; i < 40000; ++i) ASSERT_EQ(ids[i], i);
    for (const int threads : {1, 4}) {
      options.reader_threads = threads;
      ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
      for (size_t i = 0; i < right.size(); i += 3) {
        SCOPED_TRACE(absl::StrCat("behind batch ", i, ", threads ", threads));
        ASSERT_NO_FATAL_FAILURE(
            expect_rest(*data, right[i].cursor, absl::MakeSpan(right).subspan(i + 1)));
      }
    }
  }
}

// Counts the bytes that are read.
class CountedFiles : public ForwardingFileSystem {
 public:
  CountedFiles() : ForwardingFileSystem(FileSystem::local()) {}
  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, under_.open(path));
    return std::make_unique<File>(std::move(file), bytes);
  }
  std::atomic<int64_t> bytes = 0;

 private:
  class File : public ReadableFile {
   public:
    File(std::unique_ptr<ReadableFile> file, std::atomic<int64_t>& bytes)
        : file_(std::move(file)), bytes_(bytes) {}
    const std::string& path() const override { return file_->path(); }
    int64_t size_bytes() const override { return file_->size_bytes(); }
    absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
      bytes_ += count;
      return file_->read_at(offset, count, buffer);
    }

   private:
    const std::unique_ptr<ReadableFile> file_;
    std::atomic<int64_t>& bytes_;
  };
};

// And what is read ahead of the reader, which is the same from the beginning.
TEST(BatchDatasetTest, SeekingReadsTheOpenBlockAlone) {
  for (const DataConfig::Format format : {DataConfig::ORC, DataConfig::PARQUET}) {
    const std::string path = absl::StrCat(fresh_test_dir(), "/data", extension_of(format));
    ASSERT_OK(write_data_file(criteo_like_table(60000, kDense, kSparse), format, 1000, path));
    DatasetOptions options = options_for({path});
    options.data.set_shuffle_rows(2000);
    options.reader_threads = 1;
    CountedFiles files;
    options.files = &files;
    ASSERT_OK_AND_ASSIGN(const std::vector<Batch> batches, read_epoch(options));
    const int64_t whole = files.bytes.exchange(0);
    {
      ASSERT_OK_AND_ASSIGN(const auto data, open_dataset(options));
      files.bytes = 0;  // what opening reads
      ASSERT_OK(data->seek({&batches[batches.size() / 2].cursor, 1}));
      ASSERT_OK(data->next().status());
    }
    EXPECT_LT(files.bytes, whole / 4) << extension_of(format);
  }
}

}  // namespace
}  // namespace millrace
