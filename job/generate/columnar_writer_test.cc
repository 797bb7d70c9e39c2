#include "job/generate/columnar_writer.h"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>

#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ColumnarWriterTest : public testing::TestWithParam<ColumnarFormat> {
 protected:
  static std::string path(const std::string& name) {
    const bool orc = GetParam() == ColumnarFormat::kOrc;
    return testing::TempDir() + (orc ? "/orc_" : "/parquet_") + name;
  }

  static std::vector<PlantedExample> examples(int count) {
    static const auto* const model = new PlantedModel(PlantedModelOptions{.seed = 1});
    std::vector<PlantedExample> examples;
    for (int row = 0; row < count; ++row) {
      examples.push_back(model->example(PlantedModel::Part::kTrain, row));
    }
    return examples;
  }

  static absl::Status write(FileSystem& files, const std::string& path, int count) {
    ASSIGN_OR_RETURN(auto writer, ColumnarWriter::create(files, path, GetParam()));
    RETURN_IF_ERROR(writer->append(examples(count)));
    RETURN_IF_ERROR(writer->append(examples(count)));
    return writer->close();
  }

  static std::shared_ptr<arrow::Table> read(const std::string& path) {
    auto file = arrow::io::ReadableFile::Open(path).ValueOrDie();
    arrow::MemoryPool* pool = arrow::default_memory_pool();
    if (GetParam() == ColumnarFormat::kOrc) {
      return arrow::adapters::orc::ORCFileReader::Open(file, pool)
          .ValueOrDie()
          ->Read()
          .ValueOrDie();
    }
    return parquet::arrow::OpenFile(file, pool).ValueOrDie()->ReadTable().ValueOrDie();
  }

  template <typename ValueArray, typename Value>
  static void expect_row(const arrow::Table& table, const std::string& column, int64_t row,
                         const std::optional<Value>& expected) {
    const auto scalar = table.GetColumnByName(column)->GetScalar(row).ValueOrDie();
    ASSERT_TRUE(scalar->is_valid) << column << " " << row;
    const auto& list = static_cast<const arrow::ListScalar&>(*scalar).value;
    ASSERT_EQ(list->length(), expected.has_value() ? 1 : 0) << column << " " << row;
    if (expected.has_value()) {
      EXPECT_EQ(static_cast<const ValueArray&>(*list).Value(0), *expected) << column << " " << row;
    }
  }
};

TEST_P(ColumnarWriterTest, ReadsBackAsWritten) {
  FileSystem& files = FileSystem::local();
  ASSERT_OK(write(files, path("back"), 100));
  const std::shared_ptr<arrow::Table> table = read(path("back"));
  ASSERT_EQ(table->num_rows(), 200);
  ASSERT_EQ(table->num_columns(), 1 + kDenseColumns + kSparseColumns);
  EXPECT_EQ(table->field(0)->name(), "label");
  const std::vector<PlantedExample> expected = examples(100);
  for (int64_t row = 0; row < 200; ++row) {
    const PlantedExample& example = expected[row % 100];
    expect_row<arrow::DoubleArray>(*table, "label", row, std::optional<double>(example.label));
    for (int i = 0; i < kDenseColumns; ++i) {
      expect_row<arrow::DoubleArray>(*table, "i" + std::to_string(i + 1), row, example.dense[i]);
    }
    for (int i = 0; i < kSparseColumns; ++i) {
      expect_row<arrow::Int64Array>(*table, "c" + std::to_string(i + 1), row, example.sparse[i]);
    }
  }
}

TEST_P(ColumnarWriterTest, NoExamplesMakeAnEmptyFile) {
  ASSERT_OK_AND_ASSIGN(auto writer,
                       ColumnarWriter::create(FileSystem::local(), path("empty"), GetParam()));
  ASSERT_OK(writer->close());
  EXPECT_EQ(read(path("empty"))->num_rows(), 0);
}

TEST_P(ColumnarWriterTest, AppearsOnlyWhenClosed) {
  FileSystem& files = FileSystem::local();
  {
    ASSERT_OK_AND_ASSIGN(auto writer, ColumnarWriter::create(files, path("open"), GetParam()));
    ASSERT_OK(writer->append(examples(10)));
    EXPECT_THAT(files.info(path("open")), StatusIs(absl::StatusCode::kNotFound));
  }
  EXPECT_THAT(files.glob(path("open*")), IsOkAndHolds(IsEmpty()));
}

TEST_P(ColumnarWriterTest, MissingDirectoryIsNamed) {
  EXPECT_THAT(write(FileSystem::local(), path("no_such/file"), 1),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no_such/file")));
}

TEST_P(ColumnarWriterTest, EveryFailingCallIsReportedAndLeavesNothing) {
  int64_t n = 0;
  for (;; ++n) {
    FaultFileSystem files(FileSystem::local());
    files.fail(n, 1, absl::ResourceExhaustedError("disk full"));
    const absl::Status status = write(files, path("fault"), 20);
    if (files.calls() <= n) break;
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, "disk full")) << n;
    EXPECT_THAT(FileSystem::local().glob(path("fault*")), IsOkAndHolds(IsEmpty())) << n;
  }
  EXPECT_GT(n, 4);
}

INSTANTIATE_TEST_SUITE_P(Formats, ColumnarWriterTest,
                         testing::Values(ColumnarFormat::kParquet, ColumnarFormat::kOrc),
                         [](const auto& info) {
                           return info.param == ColumnarFormat::kParquet ? "Parquet" : "Orc";
                         });

}  // namespace
}  // namespace millrace
