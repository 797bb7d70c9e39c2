#include "io/orc_reader.h"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/record_batch.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/arrow_columns.h"
#include "io/arrow_file.h"

namespace millrace {
namespace {

class OrcReader : public FileReader {
 public:
  using FileReader::read;
  OrcReader(std::string path, std::shared_ptr<ArrowFile> file)
      : path_(std::move(path)), file_(std::move(file)) {}

  absl::Status open() {
    return guard_arrow(*file_, [this]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(
          reader_, arrow::adapters::orc::ORCFileReader::Open(file_, arrow::default_memory_pool()));
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Schema> schema, reader_->ReadSchema());
      for (const auto& field : schema->fields()) columns_.push_back(describe_field(*field));
      for (int64_t i = 0; i < reader_->NumberOfStripes(); ++i) {
        const auto stripe = reader_->GetStripeInformation(i);
        group_rows_.push_back(stripe.num_rows);
        first_row_.push_back(stripe.first_row_id);
      }
      return arrow::Status::OK();
    });
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    auto read = [&]() -> absl::StatusOr<std::vector<Column>> {
      std::shared_ptr<arrow::RecordBatch> batch;
      RETURN_IF_ERROR(guard_arrow(*file_, [&] { return read_batch(range, requests, &batch); }));
      return convert(*batch, requests);
    };
    auto columns = read();
    if (columns.ok()) return columns;
    return annotate(columns.status(), absl::StrCat(path_, ", stripe ", range.group));
  }

 private:
  arrow::Status read_batch(const RowRange& range, absl::Span<const ColumnRequest> requests,
                           std::shared_ptr<arrow::RecordBatch>* batch) {
    std::vector<int> indices;
    for (const ColumnRequest& request : requests)
      indices.push_back(static_cast<int>(request.column));
    ARROW_RETURN_NOT_OK(reader_->Seek(first_row_[range.group] + range.begin));
    ARROW_ASSIGN_OR_RAISE(const auto stripe, reader_->NextStripeReader(range.count, indices));
    if (stripe == nullptr) return arrow::Status::IOError("the stripe ends early");
    ARROW_RETURN_NOT_OK(stripe->ReadNext(batch));
    if (*batch == nullptr || (*batch)->num_rows() != range.count) {
      return arrow::Status::IOError("the stripe ends early");
    }
    return (*batch)->Validate();
  }

  absl::StatusOr<std::vector<Column>> convert(const arrow::RecordBatch& batch,
                                              absl::Span<const ColumnRequest> requests) const {
    std::vector<Column> columns(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const FileColumn& wanted = columns_[requests[i].column];
      const std::shared_ptr<arrow::Array> array = batch.GetColumnByName(wanted.name);
      if (array == nullptr) return absl::DataLossError(absl::StrCat("no column ", wanted.name));
      columns[i].type = wanted.type;
      RETURN_IF_ERROR(append_array(*array, &columns[i]), absl::StrCat("column ", wanted.name));
    }
    return columns;
  }

  const std::string path_;
  const std::shared_ptr<ArrowFile> file_;  // shared with reader_
  std::unique_ptr<arrow::adapters::orc::ORCFileReader> reader_;
  std::vector<FileColumn> columns_;
  std::vector<int64_t> group_rows_;
  std::vector<int64_t> first_row_;  // of each stripe in the file
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> open_orc(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  std::array<char, 3> magic = {};
  ASSIGN_OR_RETURN(const int64_t count, file->read_at(0, magic.size(), magic.data()));
  if (count < 3 || std::memcmp(magic.data(), "ORC", 3) != 0) {
    return absl::DataLossError(absl::StrCat(path, " is not an ORC file"));
  }
  auto reader = std::make_unique<OrcReader>(path, std::make_shared<ArrowFile>(std::move(file)));
  RETURN_IF_ERROR(reader->open(), absl::StrCat("cannot open ", path, " as an ORC file"));
  return reader;
}

MILLRACE_REGISTER_FILE_FORMAT(orc, {.format = DataConfig::ORC,
                                    .extensions = {".orc"},
                                    .open = [](FileSystem& files, const std::string& path,
                                               const DataConfig& config, auto layout) {
                                      return open_orc(files, path);
                                    }});

}  // namespace millrace
