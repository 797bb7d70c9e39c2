#include "job/generate/columnar_writer.h"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <parquet/arrow/writer.h>
#include <parquet/properties.h>

#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Adapts Arrow's output to our files. Keeps the first error, which has more detail than Arrow's
// status.
class FileOutput : public arrow::io::OutputStream {
 public:
  explicit FileOutput(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

  arrow::Status Write(const void* data, int64_t count) override {
    if (status_.ok()) {
      status_ = file_->append({static_cast<const char*>(data), static_cast<size_t>(count)});
    }
    bytes_ += count;
    return to_arrow();
  }
  arrow::Result<int64_t> Tell() const override { return bytes_; }
  arrow::Status Close() override {
    if (!std::exchange(closed_, true)) {
      if (status_.ok()) status_ = file_->sync();
      status_.Update(file_->close());
    }
    return to_arrow();
  }
  bool closed() const override { return closed_; }

  const absl::Status& status() const { return status_; }

 private:
  arrow::Status to_arrow() const {
    return status_.ok() ? arrow::Status::OK() : arrow::Status::IOError("see FileOutput::status");
  }

  std::unique_ptr<WritableFile> file_;
  absl::Status status_;
  int64_t bytes_ = 0;
  bool closed_ = false;
};

std::shared_ptr<arrow::Schema> make_schema() {
  arrow::FieldVector fields = {arrow::field("label", arrow::list(arrow::float64()))};
  for (int i = 1; i <= kDenseColumns; ++i) {
    fields.push_back(arrow::field("i" + std::to_string(i), arrow::list(arrow::float64())));
  }
  for (int i = 1; i <= kSparseColumns; ++i) {
    fields.push_back(arrow::field("c" + std::to_string(i), arrow::list(arrow::int64())));
  }
  return arrow::schema(std::move(fields));
}

// Returns one column of lists, where value(example) is an optional.
template <typename ValueBuilder, typename Value>
arrow::Result<std::shared_ptr<arrow::Array>> make_column(absl::Span<const PlantedExample> examples,
                                                         Value value) {
  auto values = std::make_shared<ValueBuilder>();
  arrow::ListBuilder lists(arrow::default_memory_pool(), values);
  ARROW_RETURN_NOT_OK(lists.Reserve(examples.size()));
  ARROW_RETURN_NOT_OK(values->Reserve(examples.size()));
  for (const PlantedExample& example : examples) {
    ARROW_RETURN_NOT_OK(lists.Append());
    if (const auto present = value(example); present.has_value()) values->UnsafeAppend(*present);
  }
  return lists.Finish();
}

arrow::Result<std::shared_ptr<arrow::Table>> make_table(
    const std::shared_ptr<arrow::Schema>& schema, absl::Span<const PlantedExample> examples) {
  using Example = PlantedExample;
  arrow::ArrayVector columns;
  ARROW_ASSIGN_OR_RAISE(columns.emplace_back(),
                        make_column<arrow::DoubleBuilder>(examples, [](const Example& example) {
                          return std::optional<double>(example.label);
                        }));
  for (int i = 0; i < kDenseColumns; ++i) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(),
                          make_column<arrow::DoubleBuilder>(
                              examples, [i](const Example& example) { return example.dense[i]; }));
  }
  for (int i = 0; i < kSparseColumns; ++i) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(),
                          make_column<arrow::Int64Builder>(
                              examples, [i](const Example& example) { return example.sparse[i]; }));
  }
  return arrow::Table::Make(schema, std::move(columns), examples.size());
}

// The common part of both formats: the file under its temporary name, and errors.
class FileWriter : public ColumnarWriter {
 public:
  FileWriter(FileSystem& files, std::string path, std::string aside,
             std::unique_ptr<WritableFile> file)
      : files_(files),
        path_(std::move(path)),
        aside_(std::move(aside)),
        output_(std::make_shared<FileOutput>(std::move(file))) {}
  ~FileWriter() override {
    if (!done_) files_.remove(aside_).IgnoreError();
  }

  // Starts the file.
  absl::Status open() {
    return guarded([this] { return open_format(); });
  }

  absl::Status append(absl::Span<const PlantedExample> examples) override {
    return guarded([&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Table> table, make_table(schema_, examples));
      return write(*table);
    });
  }

  absl::Status close() override {
    RETURN_IF_ERROR(guarded([this]() -> arrow::Status {
      ARROW_RETURN_NOT_OK(close_format());
      return output_->Close();
    }));
    RETURN_IF_ERROR(files_.rename(aside_, path_));
    done_ = true;
    return absl::OkStatus();
  }

 protected:
  virtual arrow::Status open_format() = 0;
  virtual arrow::Status write(const arrow::Table& table) = 0;
  virtual arrow::Status close_format() = 0;

  const std::shared_ptr<FileOutput>& output() const { return output_; }
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }

 private:
  // Returns the error of the file if there is one, else the error of `act` with the path. Arrow's
  // formats use exceptions inside and do not catch all of them.
  absl::Status guarded(const std::function<arrow::Status()>& act) {
    const std::string doing = absl::StrCat("cannot write ", path_);
    const absl::Status status = catch_exceptions(doing, [&]() -> absl::Status {
      const arrow::Status written = act();
      if (written.ok()) return absl::OkStatus();
      return absl::InternalError(absl::StrCat(doing, ": ", written.ToString()));
    });
    return status.ok() || output_->status().ok() ? status : output_->status();
  }

  FileSystem& files_;
  const std::string path_;
  const std::string aside_;
  const std::shared_ptr<FileOutput> output_;
  const std::shared_ptr<arrow::Schema> schema_ = make_schema();
  bool done_ = false;
};

class ParquetWriter : public FileWriter {
 public:
  using FileWriter::FileWriter;

 private:
  arrow::Status open_format() override {
    const auto properties = parquet::WriterProperties::Builder()
                                .compression(arrow::Compression::SNAPPY)
                                ->disable_statistics()
                                ->build();
    ARROW_ASSIGN_OR_RAISE(
        writer_, parquet::arrow::FileWriter::Open(*schema(), arrow::default_memory_pool(), output(),
                                                  properties));
    return arrow::Status::OK();
  }
  arrow::Status write(const arrow::Table& table) override {
    return writer_->WriteTable(table, table.num_rows());
  }
  arrow::Status close_format() override { return writer_->Close(); }

  std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

class OrcWriter : public FileWriter {
 public:
  using FileWriter::FileWriter;

 private:
  arrow::Status open_format() override {
    arrow::adapters::orc::WriteOptions options;
    options.stripe_size = 4 << 20;  // bytes; a stripe is a unit of reading
    ARROW_ASSIGN_OR_RAISE(writer_,
                          arrow::adapters::orc::ORCFileWriter::Open(output().get(), options));
    // The writer takes the columns from its first table; without a table the file is no valid ORC.
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Table> empty, make_table(schema(), {}));
    return write(*empty);
  }
  arrow::Status write(const arrow::Table& table) override { return writer_->Write(table); }
  arrow::Status close_format() override { return writer_->Close(); }

  std::unique_ptr<arrow::adapters::orc::ORCFileWriter> writer_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ColumnarWriter>> ColumnarWriter::create(FileSystem& files,
                                                                       const std::string& path,
                                                                       ColumnarFormat format) {
  const std::string aside = aside_path(path);
  ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, create_aside(files, path));
  std::unique_ptr<FileWriter> writer;
  if (format == ColumnarFormat::kParquet) {
    writer = std::make_unique<ParquetWriter>(files, path, aside, std::move(file));
  } else {
    writer = std::make_unique<OrcWriter>(files, path, aside, std::move(file));
  }
  RETURN_IF_ERROR(writer->open());
  return writer;
}

}  // namespace millrace
