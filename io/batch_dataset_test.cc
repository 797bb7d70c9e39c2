#include "io/batch_dataset.h"

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

constexpr int kDense = 3;
constexpr int kSparse = 4;

// The bytes of everything a batch holds.
std::string bytes_of(const Batch& batch) {
  std::string bytes = absl::StrCat(batch.size, ";");
  for (const at::Tensor* tensor :
       {&batch.sparse.values, &batch.sparse.offsets, &batch.sparse.weights, &batch.dense,
        &batch.labels, &batch.weights, &batch.example_ids, &batch.group_ids}) {
    if (!tensor->defined()) continue;
    bytes.append(static_cast<const char*>(tensor->const_data_ptr()), tensor->nbytes());
  }
  return bytes;
}

std::vector<int64_t> ids_of(const Batch& batch) {
  const int64_t* ids = batch.example_ids.const_data_ptr<int64_t>();
  return {ids, ids + batch.size};
}

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

absl::StatusOr<std::vector<Batch>> read_rest(Dataset& data) {
  std::vector<Batch> batches;
  while (true) {
    ASSIGN_OR_RETURN(std::optional<Batch> batch, data.next());
    if (!batch.has_value()) return batches;
    batches.push_back(*std::move(batch));
  }
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
  if (dir.empty()) GTEST_SKIP() << "no real data: set MILLRACE_DATA";
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

}  // namespace
}  // namespace millrace
