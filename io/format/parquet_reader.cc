#include "io/format/parquet_reader.h"

#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/format/arrow_columns.h"
#include "io/format/arrow_file.h"
#include "io/format/arrow_memory.h"
#include "io/format/parquet_column.h"

namespace millrace {
namespace {

constexpr int64_t kBatchRows = 16384;  // decoded at a time

// The leaves below a field, which is what Parquet reads.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

// Returns true if the statistics of all row groups say that a plain column has no value. The types
// of such columns mean nothing: writers choose one before they see a value.
bool is_all_null(const parquet::FileMetaData& metadata, const parquet::arrow::SchemaField& field) {
  if (!field.is_leaf() || !field.field->nullable() || metadata.num_rows() == 0) return false;
  try {
    for (int i = 0; i < metadata.num_row_groups(); ++i) {
      const auto chunk = metadata.RowGroup(i)->ColumnChunk(field.column_index);
      const auto statistics = chunk->is_stats_set() ? chunk->encoded_statistics() : nullptr;
      if (statistics == nullptr || !statistics->has_null_count ||
          statistics->null_count != chunk->num_values()) {
        return false;
      }
    }
  } catch (const parquet::ParquetException&) {
    return false;  // encrypted or damaged, which matters only if the column is read
  }
  return metadata.num_row_groups() > 0;
}

class ParquetReader : public FileReader {
 public:
  using FileReader::read;
  ParquetReader(std::string path, std::shared_ptr<ArrowFile> file, int64_t max_group_bytes)
      : path_(std::move(path)), memory_(max_group_bytes), file_(std::move(file)) {}

  absl::Status open() {
    const absl::Status status = guard_arrow(*file_, [this]() -> arrow::Status {
      ARROW_RETURN_NOT_OK(check_footer());
      parquet::arrow::FileReaderBuilder builder;
      builder.memory_pool(memory_.pool());
      ARROW_RETURN_NOT_OK(builder.Open(file_, parquet::ReaderProperties(memory_.pool())));
      parquet::ArrowReaderProperties properties(/*use_threads=*/false);
      properties.set_batch_size(kBatchRows);
      properties.set_pre_buffer(false);
      ARROW_ASSIGN_OR_RAISE(reader_, builder.properties(properties)->Build());
      const auto metadata = reader_->parquet_reader()->metadata();
      for (const auto& field : reader_->manifest().schema_fields) {
        FileColumn& column = columns_.emplace_back(describe_field(*field.field));
        if (!column.supported || !is_all_null(*metadata, field)) continue;
        column.is_empty = true;
        column.type = ValueType::kText;
      }
      for (int i = 0; i < metadata->num_row_groups(); ++i) {
        group_rows_.push_back(metadata->RowGroup(i)->num_rows());
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
    const bool continues_group = group_ == range.group;
    auto columns = read_columns(range, requests);
    if (absl::IsResourceExhausted(columns.status()) && continues_group) {
      // It may be what is kept of other rows, and whether a row can be read must not depend on the
      // order.
      close_group();
      columns = read_columns(range, requests);
    }
    const std::string place = absl::StrCat(path_, ", row group ", range.group);
    if (!columns.ok()) {
      close_group();
      return annotate(memory_.explain(columns.status()), place);
    }
    for (size_t i = 0; i < requests.size(); ++i) {
      const ColumnOrigin origin{place, columns_[requests[i].column].name, range.begin};
      RETURN_IF_ERROR(add_bad_values((*columns)[i], bad_values_[i], origin, bad));
    }
    return columns;
  }

 private:
  // The file ends with the footer, its length in four bytes, and "PAR1"; Arrow would read any
  // length.
  arrow::Status check_footer() {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
    if (size < 12) return arrow::Status::IOError("the file is too short");
    uint8_t end[8] = {};
    ARROW_ASSIGN_OR_RAISE(const int64_t count, file_->ReadAt(size - 8, 8, end));
    const uint32_t length = end[0] | end[1] << 8 | end[2] << 16 | uint32_t{end[3]} << 24;
    if (count == 8 && (length > size - 12 || length > memory_.max_bytes())) {
      return arrow::Status::IOError("the footer has ", length, " bytes, and the file ", size);
    }
    return arrow::Status::OK();
  }

  // The footer's description of the chunks to read.
  arrow::Status check_chunks(int64_t group, const std::vector<int>& leaves) {
    ARROW_ASSIGN_OR_RAISE(const int64_t size, file_->GetSize());
    const auto metadata = reader_->parquet_reader()->metadata()->RowGroup(static_cast<int>(group));
    int64_t left = memory_.max_bytes();
    for (const int leaf : leaves) {
      const auto chunk = metadata->ColumnChunk(leaf);
      const int64_t stored = chunk->total_compressed_size();
      const int64_t taken = chunk->total_uncompressed_size();
      if (stored < 0 || taken < 0 || stored > size || taken > left) {
        return arrow::Status::IOError(
            "column ", metadata->schema()->Column(leaf)->path()->ToDotString(), " has ", stored,
            " bytes, decompressed ", taken, ", where the file has ", size,
            " and max_group_bytes is ", memory_.max_bytes());
      }
      left -= taken;
    }
    return arrow::Status::OK();
  }

  absl::StatusOr<std::vector<Column>> read_columns(const RowRange& range,
                                                   absl::Span<const ColumnRequest> requests) {
    const bool is_gone = std::any_of(decoded_.begin(), decoded_.end(), [&](const auto& column) {
      return column != nullptr && range.begin < column->first_row();
    });
    // Rows are decoded in order and then released, so an earlier row needs the group from its
    // start.
    if (group_ != range.group || requests_ != requests || is_gone) {
      RETURN_IF_ERROR(guard_arrow(*file_, [&] { return open_group(range.group, requests); }));
    }
    const int64_t end = range.begin + range.count;
    taken_bytes_ = 0;
    bad_values_.assign(requests.size(), {});
    std::vector<Column> columns(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      const int64_t column = requests[i].column;
      const std::string what = absl::StrCat("column ", columns_[column].name);
      const ValueType type =
          columns_[column].is_empty ? read_type(requests[i].as) : columns_[column].type;
      if (decodes(column)) {
        RETURN_IF_ERROR(guard_arrow(*file_, [&] { return decode(range.begin, end, i); }), what);
        columns[i] = decoded_[i]->take(range.begin, end);
        taken_bytes_ += columns[i].bytes();
        RETURN_IF_ERROR(check_empty(column, columns[i]), what);
      } else {
        RETURN_IF_ERROR(guard_arrow(*file_, [&] { return read_batches_to(end); }));
        RETURN_IF_ERROR(append_rows(range.begin, end, column, &columns[i], &bad_values_[i]), what);
        RETURN_IF_ERROR(check_empty(column, columns[i]), what);
      }
      columns[i].type = type;
    }
    // Nothing remains to be read from this group, so its memory is free for the next group.
    if (range.count == group_rows_[range.group]) close_group();
    return columns;
  }

  // A value that the statistics deny would be lost.
  absl::Status check_empty(int64_t column, const Column& read) const {
    if (!columns_[column].is_empty || read.values() == 0) return absl::OkStatus();
    return absl::DataLossError("there are values, and the statistics say that all are null");
  }

  const parquet::arrow::SchemaField& field(int64_t column) const {
    return reader_->manifest().schema_fields[column];
  }

  // Returns true if a column is decoded by us, not by Arrow.
  bool decodes(int64_t column) const {
    return ParquetColumn::can_decode(field(column), *reader_->manifest().descr);
  }

  arrow::Status open_group(int64_t group, absl::Span<const ColumnRequest> requests) {
    close_group();
    std::vector<int> all, by_arrow;
    for (const ColumnRequest& request : requests) {
      add_leaves(field(request.column), &all);
      if (!decodes(request.column)) add_leaves(field(request.column), &by_arrow);
    }
    ARROW_RETURN_NOT_OK(check_chunks(group, all));
    row_group_ = reader_->parquet_reader()->RowGroup(static_cast<int>(group));
    decoded_.resize(requests.size());
    if (!by_arrow.empty()) {
      ARROW_RETURN_NOT_OK(
          reader_->GetRecordBatchReader({static_cast<int>(group)}, by_arrow).Value(&stream_));
    }
    group_ = group;
    requests_.assign(requests.begin(), requests.end());
    return arrow::Status::OK();
  }

  void close_group() {
    group_ = -1;
    row_group_.reset();
    decoded_.clear();
    stream_.reset();
    batches_.clear();
    batch_rows_ = 0;
  }

  arrow::Status decode(int64_t begin, int64_t end, size_t request) {
    if (decoded_[request] == nullptr) {
      const parquet::arrow::SchemaField& column = field(requests_[request].column);
      std::vector<int> leaf;
      add_leaves(column, &leaf);
      decoded_[request] = ParquetColumn::create(column, {.reader = row_group_->Column(leaf.front()),
                                                         .rows = group_rows_[group_],
                                                         .max_bytes = memory_.max_bytes()});
    }
    ARROW_RETURN_NOT_OK(decoded_[request]->decode(begin, end, levels_));
    if (decoded_bytes() <= memory_.max_bytes()) return arrow::Status::OK();
    // Rows before these are decoded again when they are asked for.
    for (const auto& column : decoded_) {
      if (column != nullptr) column->drop_before(begin);
    }
    if (decoded_bytes() <= memory_.max_bytes()) return arrow::Status::OK();
    return arrow::Status::OutOfMemory("decoding rows ", begin, " to ", end);
  }

  int64_t decoded_bytes() const {
    int64_t bytes = taken_bytes_;
    for (const auto& column : decoded_) bytes += column == nullptr ? 0 : column->bytes();
    return bytes;
  }

  arrow::Status read_batches_to(int64_t end) {
    while (batch_rows_ < end) {
      std::shared_ptr<arrow::RecordBatch> batch;
      ARROW_RETURN_NOT_OK(stream_->ReadNext(&batch));
      if (batch == nullptr) return arrow::Status::IOError("the row group ends early");
      ARROW_RETURN_NOT_OK(batch->Validate());
      batch_rows_ += batch->num_rows();
      batches_.push_back(std::move(batch));
    }
    return arrow::Status::OK();
  }

  absl::Status append_rows(int64_t begin, int64_t end, int64_t column, Column* out,
                           std::vector<BadValue>* bad) const {
    int64_t first = 0;
    for (const auto& batch : batches_) {
      const int64_t from = std::clamp<int64_t>(begin - first, 0, batch->num_rows());
      const int64_t to = std::clamp<int64_t>(end - first, 0, batch->num_rows());
      first += batch->num_rows();
      if (from == to) continue;
      const std::shared_ptr<arrow::Array> array = batch->GetColumnByName(columns_[column].name);
      if (array == nullptr) return absl::DataLossError("the column is missing");
      RETURN_IF_ERROR(append_array(*array->Slice(from, to - from), out, bad));
    }
    return absl::OkStatus();
  }

  const std::string path_;
  ArrowMemory memory_;                     // before all that takes of it
  const std::shared_ptr<ArrowFile> file_;  // shared with reader_
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<FileColumn> columns_;
  std::vector<int64_t> group_rows_;

  // The row group that is being read, as far as it is decoded; -1: none. Arrow's types are shared
  // with Arrow.
  int64_t group_ = -1;
  std::vector<ColumnRequest> requests_;
  std::shared_ptr<parquet::RowGroupReader> row_group_;
  std::vector<std::unique_ptr<ParquetColumn>>
      decoded_;                                    // by request; null: not read yet, or Arrow's
  int64_t taken_bytes_ = 0;                        // by the read that goes on
  std::vector<std::vector<BadValue>> bad_values_;  // of the last read, by request
  ParquetLevels levels_;
  // The stream of columns that Arrow decodes.
  std::unique_ptr<arrow::RecordBatchReader> stream_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  int64_t batch_rows_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> open_parquet(FileSystem& files, const std::string& path,
                                                         int64_t max_group_bytes) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  auto reader = std::make_unique<ParquetReader>(path, std::make_shared<ArrowFile>(std::move(file)),
                                                max_group_bytes);
  RETURN_IF_ERROR(reader->open(), absl::StrCat("cannot open ", path, " as a Parquet file"));
  return reader;
}

MILLRACE_REGISTER_FILE_FORMAT(parquet, "Apache Parquet files",
                              {.format = DataConfig::PARQUET,
                               .extensions = {".parquet", ".pq"},
                               .open = [](FileSystem& files, const std::string& path,
                                          const DataConfig& config, auto layout) {
                                 return open_parquet(files, path, config.max_group_bytes());
                               }});

}  // namespace millrace
