#include "tools/checkpoint/table_parquet.h"

#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/table.h>
#include <arrow/util/key_value_metadata.h>
#include <parquet/arrow/writer.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "checkpoint/inspect/tensor_values.h"
#include "io/format/arrow_file.h"

namespace millrace {
namespace {

constexpr int64_t kGroupRows = 65536;

class TableParquet {
 public:
  TableParquet(WritableFile& file, TableScan& scan, const TableParquetOptions& options)
      : scan_(scan), options_(options), output_(std::make_shared<ArrowOutput>(file)) {}

  // The destructors of Arrow's writers write.
  ~TableParquet() { output_->detach(); }

  absl::Status run() {
    RETURN_IF_ERROR(guard_arrow(*output_, [&] { return open(); }));
    for (RowBlock block;;) {
      RETURN_IF_ERROR(scan_.next(&block));
      if (block.rows() == 0) break;
      RETURN_IF_ERROR(guard_arrow(*output_, [&] { return append(block); }));
    }
    return guard_arrow(*output_, [&]() -> arrow::Status {
      if (options_.removed) ARROW_RETURN_NOT_OK(append_removed(*options_.removed));
      ARROW_RETURN_NOT_OK(flush());
      return writer_->Close();
    });
  }

 private:
  // Builders of the values of one scan column; either `numbers` or `lists` is set.
  struct Builder {
    std::shared_ptr<arrow::Int64Builder> numbers;
    std::shared_ptr<arrow::FixedSizeListBuilder> lists;  // of `floats`; they share it
    std::shared_ptr<arrow::FloatBuilder> floats;

    arrow::ArrayBuilder& builder() const {
      return lists == nullptr ? static_cast<arrow::ArrayBuilder&>(*numbers) : *lists;
    }
  };

  arrow::Status open() {
    const bool nullable = options_.removed.has_value();
    arrow::FieldVector fields = {arrow::field("id", arrow::int64(), /*nullable=*/false)};
    for (const TableColumn& column : scan_.columns()) {
      Builder& builder = builders_.emplace_back();
      if (column.is_matrix) {
        const auto type = arrow::fixed_size_list(
            arrow::field("element", arrow::float32(), /*nullable=*/false), column.width);
        fields.push_back(arrow::field(column.name, type, nullable));
        builder.floats = std::make_shared<arrow::FloatBuilder>();
        builder.lists = std::make_shared<arrow::FixedSizeListBuilder>(arrow::default_memory_pool(),
                                                                      builder.floats, type);
      } else {
        fields.push_back(arrow::field(column.name, arrow::int64(), nullable));
        builder.numbers = std::make_shared<arrow::Int64Builder>();
      }
    }
    if (nullable) fields.push_back(arrow::field("removed", arrow::boolean(), /*nullable=*/false));
    const auto metadata = std::make_shared<arrow::KeyValueMetadata>();
    for (const auto& [key, value] : options_.metadata) metadata->Append(key, value);
    schema_ = arrow::schema(std::move(fields), metadata);
    // Without the schema, lists would be read back without their size.
    const auto properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    return parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), output_,
                                            parquet::default_writer_properties(), properties)
        .Value(&writer_);
  }

  arrow::Status append(const RowBlock& block) {
    for (int64_t row = 0; row < block.rows(); ++row) {
      ARROW_RETURN_NOT_OK(ids_.Append(block.ids[row]));
      for (size_t i = 0; i < builders_.size(); ++i) {
        const TableColumn& column = scan_.columns()[i];
        ARROW_RETURN_NOT_OK(append(column, block.row(i, row, column.row_bytes()), builders_[i]));
      }
      if (options_.removed) ARROW_RETURN_NOT_OK(removed_.Append(false));
      ARROW_RETURN_NOT_OK(flush_if_full());
    }
    return arrow::Status::OK();
  }

  arrow::Status append(const TableColumn& column, absl::string_view bytes, Builder& builder) {
    if (!column.is_matrix) {
      int64_t value;
      std::memcpy(&value, bytes.data(), sizeof(value));
      return builder.numbers->Append(value);
    }
    floats_.resize(column.width);
    to_floats(column.type, bytes, absl::MakeSpan(floats_));
    ARROW_RETURN_NOT_OK(builder.lists->Append());
    return builder.floats->AppendValues(floats_.data(), column.width);
  }

  arrow::Status append_removed(const std::vector<int64_t>& ids) {
    for (const int64_t id : ids) {
      ARROW_RETURN_NOT_OK(ids_.Append(id));
      for (const Builder& builder : builders_) ARROW_RETURN_NOT_OK(builder.builder().AppendNull());
      ARROW_RETURN_NOT_OK(removed_.Append(true));
      ARROW_RETURN_NOT_OK(flush_if_full());
    }
    return arrow::Status::OK();
  }

  arrow::Status flush_if_full() {
    return ids_.length() < kGroupRows ? arrow::Status::OK() : flush();
  }

  // Writes the collected rows as a row group.
  arrow::Status flush() {
    const int64_t rows = ids_.length();
    if (rows == 0) return arrow::Status::OK();
    std::vector<std::shared_ptr<arrow::Array>> arrays;
    const auto take = [&](arrow::ArrayBuilder& builder) {
      return builder.Finish().Value(&arrays.emplace_back());
    };
    ARROW_RETURN_NOT_OK(take(ids_));
    for (const Builder& builder : builders_) ARROW_RETURN_NOT_OK(take(builder.builder()));
    if (options_.removed) ARROW_RETURN_NOT_OK(take(removed_));
    return writer_->WriteTable(*arrow::Table::Make(schema_, std::move(arrays), rows), rows);
  }

  TableScan& scan_;
  const TableParquetOptions& options_;
  const std::shared_ptr<ArrowOutput> output_;  // shared with Arrow's writer
  std::shared_ptr<arrow::Schema> schema_;      // shared as Arrow gives it
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  arrow::Int64Builder ids_;
  std::vector<Builder> builders_;
  arrow::BooleanBuilder removed_;
  std::vector<float> floats_;
};

}  // namespace

absl::Status write_table_parquet(WritableFile& file, TableScan& scan,
                                 const TableParquetOptions& options) {
  return TableParquet(file, scan, options).run();
}

}  // namespace millrace
