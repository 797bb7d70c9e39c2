#include "tools/output/prediction_writer.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/util/utf8.h>
#include <parquet/arrow/writer.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "io/format/arrow_file.h"
#include "tools/output/csv_rows.h"

namespace millrace {
namespace {

constexpr int64_t kGroupRows = 65536;
constexpr int64_t kGroupTextBytes = int64_t{64} << 20;

std::shared_ptr<arrow::DataType> type_of(ValueType type) {
  switch (type) {
    case ValueType::kInt64: return arrow::int64();
    case ValueType::kUint64: return arrow::uint64();
    case ValueType::kDouble: return arrow::float64();
    case ValueType::kString:
    case ValueType::kText: break;
  }
  return arrow::utf8();
}

arrow::FieldVector make_fields(const PredictionColumns& columns) {
  arrow::FieldVector fields;
  if (columns.with_set) fields.push_back(arrow::field("set", arrow::utf8()));
  fields.push_back(arrow::field("example_id", arrow::int64()));
  if (columns.with_group_ids) fields.push_back(arrow::field("group_id", arrow::int64()));
  for (const std::string& task : columns.tasks) {
    fields.push_back(arrow::field(task + "_prediction", arrow::float32()));
  }
  for (size_t i = 0; i < columns.tasks.size(); ++i) {
    if (columns.with_label[i]) fields.push_back(arrow::field(columns.tasks[i], arrow::float32()));
  }
  for (const KeptColumn& kept : columns.kept) {
    fields.push_back(arrow::field(kept.name, type_of(kept.type)));
  }
  return fields;
}

absl::Status check_names(const arrow::FieldVector& fields) {
  std::set<std::string> seen;
  for (const auto& field : fields) {
    if (seen.insert(field->name()).second) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("two columns of the predictions would be named \"", field->name(),
                     "\"; give the label another name"));
  }
  return absl::OkStatus();
}

// Builder of the values of a kept column.
class KeptValues {
 public:
  explicit KeptValues(const KeptColumn& column) : column_(column) {}

  // Appends a row that has at most one value.
  arrow::Status append(const Column& from, int64_t row) {
    const int64_t value = from.begin(row);
    const bool missing = value == from.end(row);
    switch (column_.type) {
      case ValueType::kInt64:
        return missing ? int64s_.AppendNull() : int64s_.Append(from.int64s[value]);
      case ValueType::kUint64:
        return missing ? uint64s_.AppendNull()
                       : uint64s_.Append(static_cast<uint64_t>(from.int64s[value]));
      case ValueType::kDouble:
        return missing ? doubles_.AppendNull() : doubles_.Append(from.doubles[value]);
      case ValueType::kString:
      case ValueType::kText: break;
    }
    if (missing) return texts_.AppendNull();
    const absl::string_view text = from.strings[value];
    return texts_.Append(text.data(), static_cast<int32_t>(text.size()));
  }

  int64_t text_bytes() const { return texts_.value_data_length(); }
  arrow::ArrayBuilder& builder() {
    switch (column_.type) {
      case ValueType::kInt64: return int64s_;
      case ValueType::kUint64: return uint64s_;
      case ValueType::kDouble: return doubles_;
      case ValueType::kString:
      case ValueType::kText: break;
    }
    return texts_;
  }

 private:
  const KeptColumn column_;
  // The builder of the type is used.
  arrow::Int64Builder int64s_;
  arrow::UInt64Builder uint64s_;
  arrow::DoubleBuilder doubles_;
  arrow::StringBuilder texts_;
};

class ArrowPredictionWriter : public PredictionWriter {
 public:
  ArrowPredictionWriter(WritableFile& file, PredictionFormat format, PredictionColumns columns)
      : format_(format),
        columns_(std::move(columns)),
        output_(std::make_shared<ArrowOutput>(file)),
        predictions_(columns_.tasks.size()),
        labels_(columns_.tasks.size()) {
    for (const KeptColumn& column : columns_.kept) {
      kept_.push_back(std::make_unique<KeptValues>(column));
    }
  }

  // The destructors of Arrow's writers write.
  ~ArrowPredictionWriter() override { output_->detach(); }

  absl::Status open() {
    arrow::FieldVector fields = make_fields(columns_);
    RETURN_IF_ERROR(check_names(fields));
    schema_ = arrow::schema(std::move(fields));
    return guard_arrow(*output_, [&]() -> arrow::Status {
      if (format_ == PredictionFormat::kCsv) {
        std::string header;
        append_csv_header(*schema_, header);
        return output_->Write(header.data(), static_cast<int64_t>(header.size()));
      }
      return parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), output_)
          .Value(&parquet_);
    });
  }

  absl::Status append(const PredictionRows& rows) override {
    RETURN_IF_ERROR(check_texts(rows));
    const size_t tasks = columns_.tasks.size();
    for (size_t row = 0; row < rows.example_ids.size(); ++row) {
      const absl::Status status = guard_arrow(*output_, [&]() -> arrow::Status {
        if (columns_.with_set) {
          ARROW_RETURN_NOT_OK(sets_.Append(rows.set.data(), static_cast<int32_t>(rows.set.size())));
        }
        ARROW_RETURN_NOT_OK(example_ids_.Append(rows.example_ids[row]));
        if (columns_.with_group_ids) ARROW_RETURN_NOT_OK(group_ids_.Append(rows.group_ids[row]));
        for (size_t task = 0; task < tasks; ++task) {
          const size_t place = row * tasks + task;
          ARROW_RETURN_NOT_OK(predictions_[task].Append(rows.predictions[place]));
          if (!columns_.with_label[task]) continue;
          const float label = rows.labels[place];
          ARROW_RETURN_NOT_OK(std::isnan(label) ? labels_[task].AppendNull()
                                                : labels_[task].Append(label));
        }
        for (size_t i = 0; i < kept_.size(); ++i) {
          ARROW_RETURN_NOT_OK(kept_[i]->append(rows.kept[i], static_cast<int64_t>(row)));
        }
        return arrow::Status::OK();
      });
      RETURN_IF_ERROR(status);
      // Texts may be long, so any row may complete a group.
      if (is_full()) RETURN_IF_ERROR(flush());
    }
    return absl::OkStatus();
  }

  absl::Status finish() override {
    if (example_ids_.length() > 0) RETURN_IF_ERROR(flush());
    if (parquet_ == nullptr) return absl::OkStatus();
    return guard_arrow(*output_, [&] { return parquet_->Close(); });
  }

 private:
  // Parquet allows no other encoding of text.
  absl::Status check_texts(const PredictionRows& rows) const {
    if (format_ != PredictionFormat::kParquet) return absl::OkStatus();
    for (size_t i = 0; i < rows.kept.size(); ++i) {
      const Column& column = rows.kept[i];
      if (column.strings.size() == 0) continue;
      for (size_t row = 0; row < rows.example_ids.size(); ++row) {
        const int64_t value = column.begin(static_cast<int64_t>(row));
        if (value == column.end(static_cast<int64_t>(row))) continue;
        const absl::string_view text = column.strings[value];
        if (arrow::util::ValidateUTF8(std::string_view(text.data(), text.size()))) continue;
        return absl::InvalidArgumentError(absl::StrCat(
            "column \"", columns_.kept[i].name, "\" of example ", rows.example_ids[row],
            " is not UTF-8, which text in Parquet must be; "
            "write .csv, or leave the column out"));
      }
    }
    return absl::OkStatus();
  }

  bool is_full() const {
    int64_t text_bytes = 0;
    for (const auto& kept : kept_) text_bytes += kept->text_bytes();
    return example_ids_.length() >= kGroupRows || text_bytes >= kGroupTextBytes;
  }

  // Writes the collected rows: in Parquet, a row group.
  absl::Status flush() {
    return guard_arrow(*output_, [&]() -> arrow::Status {
      const int64_t rows = example_ids_.length();
      std::vector<std::shared_ptr<arrow::Array>> arrays;
      const auto take = [&](arrow::ArrayBuilder& builder) {
        return builder.Finish().Value(&arrays.emplace_back());
      };
      if (columns_.with_set) ARROW_RETURN_NOT_OK(take(sets_));
      ARROW_RETURN_NOT_OK(take(example_ids_));
      if (columns_.with_group_ids) ARROW_RETURN_NOT_OK(take(group_ids_));
      for (arrow::FloatBuilder& builder : predictions_) ARROW_RETURN_NOT_OK(take(builder));
      for (size_t task = 0; task < labels_.size(); ++task) {
        if (columns_.with_label[task]) ARROW_RETURN_NOT_OK(take(labels_[task]));
      }
      for (const auto& kept : kept_) ARROW_RETURN_NOT_OK(take(kept->builder()));
      const auto batch = arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
      if (parquet_ == nullptr) {
        std::string text;
        ARROW_RETURN_NOT_OK(append_csv_rows(*batch, text));
        return output_->Write(text.data(), static_cast<int64_t>(text.size()));
      }
      ARROW_ASSIGN_OR_RAISE(const auto table, arrow::Table::FromRecordBatches(schema_, {batch}));
      return parquet_->WriteTable(*table, rows);
    });
  }

  const PredictionFormat format_;
  const PredictionColumns columns_;
  const std::shared_ptr<ArrowOutput> output_;  // shared with Arrow's writer
  std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;  // null: CSV
  arrow::StringBuilder sets_;
  arrow::Int64Builder example_ids_;
  arrow::Int64Builder group_ids_;
  std::vector<arrow::FloatBuilder> predictions_;
  std::vector<arrow::FloatBuilder> labels_;
  std::vector<std::unique_ptr<KeptValues>> kept_;
};

}  // namespace

absl::Status check_kept_names(const PredictionColumns& columns) {
  std::set<std::string> taken;
  PredictionColumns others = columns;
  others.kept.clear();
  for (const auto& field : make_fields(others)) taken.insert(field->name());
  for (const KeptColumn& kept : columns.kept) {
    if (taken.count(kept.name) == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a column of the predictions is named \"", kept.name,
                     "\" already, so that of the data cannot be kept"));
  }
  return absl::OkStatus();
}

absl::StatusOr<PredictionFormat> prediction_format(absl::string_view path) {
  if (absl::EndsWith(path, ".parquet") || absl::EndsWith(path, ".pq")) {
    return PredictionFormat::kParquet;
  }
  if (absl::EndsWith(path, ".csv")) return PredictionFormat::kCsv;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": the extension says what is written; use .parquet, .pq or .csv"));
}

absl::StatusOr<std::unique_ptr<PredictionWriter>> PredictionWriter::open(
    WritableFile& file, PredictionFormat format, const PredictionColumns& columns) {
  RETURN_IF_ERROR(check_kept_names(columns));
  arrow::util::InitializeUTF8();
  auto writer = std::make_unique<ArrowPredictionWriter>(file, format, columns);
  RETURN_IF_ERROR(writer->open());
  return writer;
}

namespace {

bool contains(absl::Span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> kept_names(absl::Span<const std::string> values,
                                                    absl::Span<const std::string> columns) {
  std::vector<std::string> names;
  for (const std::string& value : values) {
    std::vector<std::string> given = {value};
    if (!contains(columns, value)) given = absl::StrSplit(value, ',');
    for (std::string& name : given) {
      if (name.empty()) {
        return absl::InvalidArgumentError(
            absl::StrCat("\"", value, "\" has an empty name; give COLUMN[,COLUMN...]"));
      }
      if (contains(names, name)) {
        return absl::InvalidArgumentError(absl::StrCat("column \"", name, "\" comes twice"));
      }
      names.push_back(std::move(name));
    }
  }
  return names;
}

}  // namespace millrace
