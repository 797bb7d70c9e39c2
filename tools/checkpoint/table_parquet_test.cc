#include "tools/checkpoint/table_parquet.h"

#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>

#include <bit>

#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TableParquetTest : public testing::Test {
 protected:
  TableParquetTest() : folder_(fresh_test_dir()), path_(folder_ + "/t.parquet") {}

  void save(const RowsCheckpoint& content) {
    ASSERT_OK(write_rows_checkpoint(files_, folder_, content));
    open("step-00000001");
  }
  void open(const std::string& name) {
    ASSERT_OK_AND_ASSIGN(content_, CheckpointContent::open(files_, folder_ + "/" + name));
  }
  absl::Status write(const std::vector<std::string>& columns,
                     const TableParquetOptions& options = {}) {
    auto scan = content_->scan("items", columns);
    EXPECT_OK(scan);
    return write_file_atomically(FileSystem::local(), path_, [&](WritableFile& file) {
      return write_table_parquet(file, **scan, options);
    });
  }
  // Returns the file as one table with one chunk.
  std::shared_ptr<arrow::Table> read() {
    auto file = arrow::io::ReadableFile::Open(path_).ValueOrDie();
    parquet::arrow::FileReaderBuilder builder;
    EXPECT_TRUE(builder.Open(file).ok());
    const auto reader = builder.Build().ValueOrDie();
    groups_ = reader->num_row_groups();
    return reader->ReadTable().ValueOrDie()->CombineChunks().ValueOrDie();
  }
  template <typename Array>
  static const Array& column(const arrow::Table& table, const std::string& name) {
    return static_cast<const Array&>(*table.GetColumnByName(name)->chunk(0));
  }
  static std::vector<float> list(const arrow::Table& table, const std::string& name, int64_t row) {
    const auto& lists = column<arrow::FixedSizeListArray>(table, name);
    const auto& values = static_cast<const arrow::FloatArray&>(*lists.values());
    std::vector<float> numbers;
    for (int i = 0; i < lists.value_length(); ++i) {
      numbers.push_back(values.Value(lists.value_offset(row) + i));
    }
    return numbers;
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_, path_;
  std::unique_ptr<CheckpointContent> content_;
  int groups_ = 0;
};

TEST_F(TableParquetTest, EveryRowWithItsNumbers) {
  const RowsCheckpoint content = {.dim = 3, .rows = test_rows(70'000, 3, 1)};
  save(content);
  ASSERT_OK(write({"frequency", "last_step", "weights"}, {.metadata = {{"millrace.step", "1"}}}));
  const auto table = read();
  EXPECT_EQ(groups_, 2) << "of 65,536 rows";
  EXPECT_THAT(table->schema()->field_names(),
              ElementsAre("id", "frequency", "last_step", "weights"));
  EXPECT_EQ(table->schema()->field(3)->type()->ToString(),
            "fixed_size_list<element: float not null>[3]");
  EXPECT_EQ(table->schema()->metadata()->Get("millrace.step").ValueOrDie(), "1");
  ASSERT_EQ(table->num_rows(), 70'000);
  const auto& ids = column<arrow::Int64Array>(*table, "id");
  const auto& frequencies = column<arrow::Int64Array>(*table, "frequency");
  const auto& last_steps = column<arrow::Int64Array>(*table, "last_step");
  for (int64_t row = 0; row < 70'000; row += 7) {
    const TestRow& expected = content.rows.at(ids.Value(row));
    ASSERT_EQ(frequencies.Value(row), expected.frequency);
    ASSERT_EQ(last_steps.Value(row), expected.last_step);
    ASSERT_EQ(list(*table, "weights", row), expected.weights);
  }
}

TEST_F(TableParquetTest, SixteenBitsBecomeFloats) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 1}));
  open("step-00000001");
  ASSERT_OK(write({"weights"}));
  const auto table = read();
  ASSERT_EQ(table->num_rows(), 5);
  ASSERT_OK_AND_ASSIGN(const std::string bytes, content_->read("table/items/weights"));
  const uint16_t first = static_cast<uint8_t>(bytes[0]) | static_cast<uint8_t>(bytes[1]) << 8;
  EXPECT_EQ(list(*table, "weights", 0)[0], std::bit_cast<float>(uint32_t{first} << 16));
}

TEST_F(TableParquetTest, IdsThatWent) {
  save({.rows = {{7, {{1, 2}, 3, 4, 5}}}});
  ASSERT_OK(write({"frequency", "weights"}, {.removed = std::vector<int64_t>{8, 9}}));
  const auto table = read();
  ASSERT_EQ(table->num_rows(), 3);
  const auto& ids = column<arrow::Int64Array>(*table, "id");
  const auto& removed = column<arrow::BooleanArray>(*table, "removed");
  const auto& frequency = column<arrow::Int64Array>(*table, "frequency");
  EXPECT_EQ(ids.Value(0), 7);
  EXPECT_FALSE(removed.Value(0));
  EXPECT_EQ(frequency.Value(0), 4);
  EXPECT_THAT(list(*table, "weights", 0), ElementsAre(1, 2));
  for (const int64_t row : {1, 2}) {
    EXPECT_EQ(ids.Value(row), 7 + row);
    EXPECT_TRUE(removed.Value(row));
    EXPECT_TRUE(frequency.IsNull(row));
    EXPECT_TRUE(column<arrow::FixedSizeListArray>(*table, "weights").IsNull(row));
  }
}

TEST_F(TableParquetTest, NoRows) {
  save({.rows = {}});
  ASSERT_OK(write({"weights"}));
  const auto table = read();
  EXPECT_EQ(table->num_rows(), 0);
  EXPECT_THAT(table->schema()->field_names(), ElementsAre("id", "weights"));
}

// Every writing call fails in turn.
TEST_F(TableParquetTest, ErrorsOfTheFile) {
  save({.rows = test_rows(1'000, 2, 1)});
  int whole = 0;
  for (int64_t n = 0;; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::ResourceExhaustedError("injected"));
    ASSERT_OK_AND_ASSIGN(const auto scan, content_->scan("items", {"weights"}));
    const absl::Status status = write_file_atomically(
        faulty, path_, [&](WritableFile& file) { return write_table_parquet(file, *scan, {}); });
    if (faulty.calls() <= n) {
      ASSERT_OK(status);
      ASSERT_GT(n, 4);
      break;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("injected")));
    whole += files_.remove(path_).ok() ? 1 : 0;
  }
  EXPECT_EQ(whole, 1) << "the sync of the directory, after the rename, failed";
  EXPECT_EQ(read()->num_rows(), 1'000);
}

TEST_F(TableParquetTest, DamageIsAnError) {
  save({.rows = test_rows(1'000, 2, 1)});
  const std::string shard = folder_ + "/step-00000001/table-items-00001-of-00002.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string bytes, read_file(files_, shard));
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_OK(write_file_atomically(files_, shard, bytes));
  EXPECT_THAT(write({"weights"}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(shard + " is damaged")));
  EXPECT_FALSE(files_.info(path_).ok());
}

}  // namespace
}  // namespace millrace
