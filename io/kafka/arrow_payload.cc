// Records that are a stream of Arrow's IPC format: a schema and batches of rows.
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>

#include <cstring>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/column_rows.h"
#include "io/format/arrow_columns.h"
#include "io/format/arrow_file.h"
#include "io/format/arrow_memory.h"
#include "io/kafka/kafka_payload.h"

namespace millrace {
namespace {

using Batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

// The columns are the union over the given records, each with its first type. Other records may
// have more columns, and another order.
class ArrowPayload : public KafkaPayload {
 public:
  ArrowPayload(int64_t max_bytes, int64_t max_rows) : memory_(max_bytes), max_rows_(max_rows) {}

  bool describes_itself() const override { return true; }

  absl::StatusOr<std::vector<FileColumn>> columns(
      absl::Span<const absl::string_view> records) override {
    columns_.clear();
    absl::Status bad = absl::DataLossError("there are no records");
    bool is_known = false;
    for (const absl::string_view record : records) {
      const absl::Status status = guard([&]() -> arrow::Status {
        ARROW_RETURN_NOT_OK(take(record));
        ARROW_ASSIGN_OR_RAISE(const auto stream, open(arrow::ipc::IpcReadOptions::Defaults()));
        for (const auto& field : stream->schema()->fields()) add(describe_field(*field));
        return arrow::Status::OK();
      });
      is_known |= status.ok();
      if (!status.ok()) bad = status;
    }
    if (!is_known) return bad;
    // A later record may have values.
    std::vector<FileColumn> columns = columns_;
    for (FileColumn& column : columns) column.is_empty = false;
    return columns;
  }

  absl::StatusOr<KafkaRows> decode(absl::Span<const absl::string_view> values,
                                   absl::Span<const ColumnRequest> requests,
                                   const BadRecord& bad) override {
    KafkaRows rows;
    rows.columns.resize(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      rows.columns[i].type = read_type(requests[i].as);
      rows.columns[i].exact_integers = columns_[requests[i].column].exact_integers;
    }
    for (const absl::string_view value : values) {
      const auto record = static_cast<int64_t>(rows.records.size());
      rows.records.push_back(0);
      std::vector<std::vector<BadValue>> bad_values(requests.size());
      const int64_t before = requests.empty() ? 0 : rows.columns.front().rows;
      const absl::StatusOr<int64_t> count =
          append(value, requests, absl::MakeSpan(rows.columns), absl::MakeSpan(bad_values));
      if (!count.ok()) {
        for (Column& column : rows.columns) keep_rows(before, column);
        RETURN_IF_ERROR(bad(record, -1, count.status().message()));
        continue;
      }
      rows.records.back() = *count;
      for (size_t i = 0; i < requests.size(); ++i) {
        for (const BadValue& value : bad_values[i]) {
          const int64_t row = row_of_value(rows.columns[i].offsets, value.index);
          RETURN_IF_ERROR(
              bad(record, row - before,
                  absl::StrCat("column ", columns_[requests[i].column].name, ": ", value.what)));
        }
      }
    }
    return rows;
  }

 private:
  // Arrow throws for some damage.
  template <typename Call>
  absl::Status guard(Call&& call) const {
    arrow::Status status;
    try {
      status = call();
    } catch (const std::exception& error) {
      status = arrow::Status::IOError(error.what());
    }
    if (status.ok()) return absl::OkStatus();
    // A KeyError is of this file, and never of Arrow: the stream is sound, its content is not.
    const char* const what = status.IsKeyError() ? "" : "no Arrow IPC stream: ";
    return absl::DataLossError(absl::StrCat(what, arrow_message(status).substr(0, 200)));
  }

  // Adds a column that is new, or has a type for the first time.
  void add(const FileColumn& column) {
    for (FileColumn& known : columns_) {
      if (known.name != column.name) continue;
      if (known.is_empty) known = column;
      return;
    }
    columns_.push_back(column);
  }

  // Copies a value for open(). Numbers are aligned if their message is.
  arrow::Status take(absl::string_view value) {
    if (value.empty()) return arrow::Status::KeyError("a record without a value");
    aligned_.resize((value.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    std::memcpy(aligned_.data(), value.data(), value.size());
    bytes_ = std::make_shared<arrow::Buffer>(reinterpret_cast<const uint8_t*>(aligned_.data()),
                                             static_cast<int64_t>(value.size()));
    return arrow::Status::OK();
  }

  // Opens the value that was taken last, at its beginning.
  arrow::Result<std::shared_ptr<arrow::ipc::RecordBatchStreamReader>> open(
      arrow::ipc::IpcReadOptions options) {
    options.memory_pool = memory_.pool();
    options.use_threads = false;
    return arrow::ipc::RecordBatchStreamReader::Open(
        std::make_shared<arrow::io::BufferReader>(bytes_), options);
  }

  // Reads the columns of the requests only.
  arrow::Status read(absl::string_view value, absl::Span<const ColumnRequest> requests,
                     Batches* batches) {
    arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
    ARROW_RETURN_NOT_OK(take(value));
    ARROW_ASSIGN_OR_RAISE(auto stream, open(options));
    for (const ColumnRequest& request : requests) {
      const FileColumn& column = columns_[request.column];
      const int index = stream->schema()->GetFieldIndex(column.name);
      if (index < 0) return arrow::Status::KeyError("column ", column.name, " is missing");
      const FileColumn here = describe_field(*stream->schema()->field(index));
      const ValueType type = column.is_empty ? read_type(request.as) : column.type;
      if (!here.supported || (!here.is_empty && here.type != type)) {
        return arrow::Status::KeyError("column ", column.name, " is of type ", here.type_name,
                                       ", that of an earlier record of type ", column.type_name);
      }
      options.included_fields.push_back(index);
    }
    const bool reads_all = static_cast<int>(requests.size()) == stream->schema()->num_fields();
    // No column is read, but the rows are counted.
    if (options.included_fields.empty() && stream->schema()->num_fields() > 0) {
      options.included_fields.push_back(0);
    }
    if (!reads_all) {
      ARROW_ASSIGN_OR_RAISE(stream, open(options));
    }
    int64_t rows = 0;
    while (true) {
      std::shared_ptr<arrow::RecordBatch> batch;
      ARROW_RETURN_NOT_OK(stream->ReadNext(&batch));
      if (batch == nullptr) return arrow::Status::OK();
      rows += batch->num_rows();
      if (batch->num_rows() > max_rows_ || rows > max_rows_) {
        return arrow::Status::KeyError("a record of more than ", max_rows_,
                                       " rows (windows.kafka.rows_per_record)");
      }
      // The bytes are another program's: every offset must be within its buffer.
      ARROW_RETURN_NOT_OK(batch->ValidateFull());
      batches->push_back(std::move(batch));
    }
  }

  // Returns the number of rows.
  absl::StatusOr<int64_t> append(absl::string_view value, absl::Span<const ColumnRequest> requests,
                                 absl::Span<Column> columns,
                                 absl::Span<std::vector<BadValue>> bad_values) {
    Batches batches;
    RETURN_IF_ERROR(guard([&] { return read(value, requests, &batches); }));
    int64_t rows = 0;
    for (const auto& batch : batches) {
      rows += batch->num_rows();
      for (size_t i = 0; i < requests.size(); ++i) {
        const std::string& name = columns_[requests[i].column].name;
        absl::Status appended = absl::DataLossError(absl::StrCat("column ", name, " is missing"));
        if (const auto array = batch->GetColumnByName(name); array != nullptr) {
          appended = append_array(*array, &columns[i], &bad_values[i]);
        }
        RETURN_IF_ERROR(appended, absl::StrCat("column ", name));
      }
    }
    return rows;
  }

  static void keep_rows(int64_t rows, Column& column) {
    if (column.rows == rows) return;
    Column kept;
    kept.type = column.type;
    kept.exact_integers = column.exact_integers;
    if (rows > 0) append_rows(column, 0, rows, kept);
    column = std::move(kept);
  }

  ArrowMemory memory_;
  const int64_t max_rows_;  // of a record
  std::vector<FileColumn> columns_;
  std::vector<uint64_t> aligned_;         // the value that was taken last
  std::shared_ptr<arrow::Buffer> bytes_;  // of aligned_
};

absl::StatusOr<std::unique_ptr<KafkaPayload>> make_arrow(const CustomConfig&,
                                                         const DataConfig& data) {
  const int64_t rows = data.custom_format().GetExtension(kafka).rows_per_record();
  return std::make_unique<ArrowPayload>(data.max_group_bytes(), rows);
}

MILLRACE_REGISTER_KAFKA_PAYLOAD(arrow, "rows as a stream of Arrow's IPC format", &make_arrow);

}  // namespace
}  // namespace millrace
