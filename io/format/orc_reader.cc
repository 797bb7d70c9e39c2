#include "io/format/orc_reader.h"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/record_batch.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/format/arrow_columns.h"
#include "io/format/arrow_file.h"
#include "io/format/arrow_memory.h"

namespace millrace {
namespace {

// Fields of the postscript (https://orc.apache.org/specification/ORCv1).
constexpr uint32_t kFooterLength = 1;
constexpr uint32_t kBlockSize = 3;  // of compression
constexpr uint32_t kMetadataLength = 5;

class OrcReader : public FileReader {
 public:
  using FileReader::read;
  OrcReader(std::string path, std::shared_ptr<ArrowFile> file, int64_t max_group_bytes)
      : path_(std::move(path)), memory_(max_group_bytes), file_(std::move(file)) {}

  absl::Status open() {
    RETURN_IF_ERROR(check_tail());
    const absl::Status status = guard_arrow(*file_, [this]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(reader_,
                            arrow::adapters::orc::ORCFileReader::Open(file_, memory_.pool()));
      ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
      ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Schema> schema, reader_->ReadSchema());
      for (const auto& field : schema->fields()) columns_.push_back(describe_field(*field));
      for (int64_t i = 0; i < reader_->NumberOfStripes(); ++i) {
        const auto stripe = reader_->GetStripeInformation(i);
        if (stripe.offset < 0 || stripe.length < 0 || stripe.length > memory_.max_bytes() ||
            stripe.offset > size - stripe.length) {
          return arrow::Status::IOError("stripe ", i, " has ", stripe.length, " bytes from byte ",
                                        stripe.offset, " on, where the file has ", size,
                                        " and max_group_bytes is ", memory_.max_bytes());
        }
        group_rows_.push_back(stripe.num_rows);
        first_row_.push_back(stripe.first_row_id);
      }
      return arrow::Status::OK();
    });
    return memory_.explain(status);
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    std::vector<std::vector<BadValue>> bad_values(requests.size());  // by request
    auto read = [&]() -> absl::StatusOr<std::vector<Column>> {
      std::shared_ptr<arrow::RecordBatch> batch;
      RETURN_IF_ERROR(guard_arrow(*file_, [&] { return read_batch(range, requests, &batch); }));
      return convert(*batch, requests, &bad_values);
    };
    auto columns = read();
    const std::string place = absl::StrCat(path_, ", stripe ", range.group);
    if (!columns.ok()) return annotate(memory_.explain(columns.status()), place);
    for (size_t i = 0; i < requests.size(); ++i) {
      const ColumnOrigin origin{place, columns_[requests[i].column].name, range.begin};
      RETURN_IF_ERROR(add_bad_values((*columns)[i], bad_values[i], origin, bad));
    }
    return columns;
  }

 private:
  // The file ends with the footer, the postscript and the length of that in one byte. ORC would
  // allocate the lengths that the postscript declares, and buffers for blocks of that size.
  absl::Status check_tail() {
    std::string tail(256, '\0');
    int64_t size = 0;
    RETURN_IF_ERROR(guard_arrow(*file_, [&]() -> arrow::Status {
      ARROW_ASSIGN_OR_RAISE(size, file_->GetSize());
      const int64_t count = std::min<int64_t>(size, static_cast<int64_t>(tail.size()));
      tail.resize(count);
      return file_->ReadAt(size - count, count, tail.data()).status();
    }));
    const size_t length = tail.empty() ? 0 : static_cast<uint8_t>(tail.back());
    if (length + 1 > tail.size())
      return absl::DataLossError("the postscript reaches beyond the file");
    google::protobuf::io::CodedInputStream fields(
        reinterpret_cast<const uint8_t*>(tail.data()) + tail.size() - 1 - length,
        static_cast<int>(length));
    while (const uint32_t tag = fields.ReadTag()) {
      uint64_t value = 0;
      if ((tag & 7) != 0) {  // no number
        uint32_t bytes = 0;
        if ((tag & 7) != 2 || !fields.ReadVarint32(&bytes) ||
            !fields.Skip(static_cast<int>(bytes))) {
          return absl::DataLossError("the postscript is damaged");
        }
        continue;
      }
      if (!fields.ReadVarint64(&value)) return absl::DataLossError("the postscript is damaged");
      const bool is_length = tag >> 3 == kFooterLength || tag >> 3 == kMetadataLength;
      if ((is_length && value > static_cast<uint64_t>(size)) ||
          ((is_length || tag >> 3 == kBlockSize) &&
           value > static_cast<uint64_t>(memory_.max_bytes()))) {
        return absl::DataLossError(absl::StrCat("the postscript declares a length of ", value,
                                                " bytes, where the file has ", size,
                                                " and max_group_bytes is ", memory_.max_bytes()));
      }
    }
    return absl::OkStatus();
  }

  arrow::Status read_batch(const RowRange& range, absl::Span<const ColumnRequest> requests,
                           std::shared_ptr<arrow::RecordBatch>* batch) {
    std::vector<int> indices;
    for (const ColumnRequest& request : requests)
      indices.push_back(static_cast<int>(request.column));
    if (range.begin == 0 && range.count == group_rows_[range.group]) {
      // Seeking takes the stripe's index on trust, and a damaged one ends the process.
      ARROW_ASSIGN_OR_RAISE(*batch, reader_->ReadStripe(range.group, indices));
    } else {
      ARROW_RETURN_NOT_OK(reader_->Seek(first_row_[range.group] + range.begin));
      ARROW_ASSIGN_OR_RAISE(const auto stripe, reader_->NextStripeReader(range.count, indices));
      if (stripe == nullptr) return arrow::Status::IOError("the stripe ends early");
      ARROW_RETURN_NOT_OK(stripe->ReadNext(batch));
    }
    if (*batch == nullptr || (*batch)->num_rows() != range.count) {
      return arrow::Status::IOError("the stripe ends early");
    }
    return (*batch)->Validate();
  }

  absl::StatusOr<std::vector<Column>> convert(const arrow::RecordBatch& batch,
                                              absl::Span<const ColumnRequest> requests,
                                              std::vector<std::vector<BadValue>>* bad) const {
    std::vector<Column> columns(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const FileColumn& wanted = columns_[requests[i].column];
      const std::shared_ptr<arrow::Array> array = batch.GetColumnByName(wanted.name);
      if (array == nullptr) return absl::DataLossError(absl::StrCat("no column ", wanted.name));
      columns[i].type = wanted.is_empty ? read_type(requests[i].as) : wanted.type;
      RETURN_IF_ERROR(append_array(*array, &columns[i], &(*bad)[i]),
                      absl::StrCat("column ", wanted.name));
    }
    return columns;
  }

  const std::string path_;
  ArrowMemory memory_;                     // before all that takes of it
  const std::shared_ptr<ArrowFile> file_;  // shared with reader_
  std::unique_ptr<arrow::adapters::orc::ORCFileReader> reader_;
  std::vector<FileColumn> columns_;
  std::vector<int64_t> group_rows_;
  std::vector<int64_t> first_row_;  // of each stripe in the file
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> open_orc(FileSystem& files, const std::string& path,
                                                     int64_t max_group_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  std::array<char, 3> magic = {};
  ASSIGN_OR_RETURN(const int64_t count, file->read_at(0, magic.size(), magic.data()));
  if (count < 3 || std::memcmp(magic.data(), "ORC", 3) != 0) {
    return absl::DataLossError(absl::StrCat(path, " is not an ORC file"));
  }
  auto reader = std::make_unique<OrcReader>(path, std::make_shared<ArrowFile>(std::move(file)),
                                            max_group_bytes);
  RETURN_IF_ERROR(reader->open(), absl::StrCat("cannot open ", path, " as an ORC file"));
  return reader;
}

MILLRACE_REGISTER_FILE_FORMAT(orc, "Apache ORC files",
                              {.format = DataConfig::ORC,
                               .extensions = {".orc"},
                               .open = [](FileSystem& files, const std::string& path,
                                          const DataConfig& config, auto layout) {
                                 return open_orc(files, path, config.max_group_bytes());
                               }});

}  // namespace millrace
