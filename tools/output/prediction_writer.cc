#include "tools/output/prediction_writer.h"

#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/csv/writer.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>

#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/format/arrow_output.h"

namespace millrace {
namespace {

constexpr int64_t kGroupRows = 65536;

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

// Quotes only where a name needs them.
arrow::csv::QuotingStyle header_quotes(const arrow::FieldVector& fields) {
  for (const auto& field : fields) {
    if (field->name().find_first_of(",\"\r\n") != std::string::npos) {
      return arrow::csv::QuotingStyle::Needed;
    }
  }
  return arrow::csv::QuotingStyle::None;
}

class ArrowPredictionWriter : public PredictionWriter {
 public:
  ArrowPredictionWriter(WritableFile& file, PredictionFormat format, PredictionColumns columns)
      : format_(format),
        columns_(std::move(columns)),
        output_(std::make_shared<ArrowOutput>(file)),
        predictions_(columns_.tasks.size()),
        labels_(columns_.tasks.size()) {}

  // Arrow's writers write when they go.
  ~ArrowPredictionWriter() override { output_->detach(); }

  absl::Status open() {
    arrow::FieldVector fields = make_fields(columns_);
    RETURN_IF_ERROR(check_names(fields));
    const arrow::csv::QuotingStyle quotes = header_quotes(fields);
    schema_ = arrow::schema(std::move(fields));
    return guard_arrow(*output_, [&]() -> arrow::Status {
      if (format_ == PredictionFormat::kCsv) {
        arrow::csv::WriteOptions options = arrow::csv::WriteOptions::Defaults();
        options.quoting_header = quotes;
        // The only texts are names of evaluation sets, which hold nothing that needs quotes.
        options.quoting_style = arrow::csv::QuotingStyle::None;
        return arrow::csv::MakeCSVWriter(output_, schema_, options).Value(&csv_);
      }
      return parquet::arrow::FileWriter::Open(*schema_, arrow::default_memory_pool(), output_)
          .Value(&parquet_);
    });
  }

  absl::Status append(const PredictionRows& rows) override {
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
        return arrow::Status::OK();
      });
      RETURN_IF_ERROR(status);
      if (example_ids_.length() >= kGroupRows) RETURN_IF_ERROR(flush());
    }
    return absl::OkStatus();
  }

  absl::Status finish() override {
    if (example_ids_.length() > 0) RETURN_IF_ERROR(flush());
    return guard_arrow(*output_,
                       [&] { return csv_ != nullptr ? csv_->Close() : parquet_->Close(); });
  }

 private:
  // Writes what was collected: in Parquet, a row group.
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
      const auto batch = arrow::RecordBatch::Make(schema_, rows, std::move(arrays));
      if (csv_ != nullptr) return csv_->WriteRecordBatch(*batch);
      ARROW_ASSIGN_OR_RAISE(const auto table, arrow::Table::FromRecordBatches(schema_, {batch}));
      return parquet_->WriteTable(*table, rows);
    });
  }

  const PredictionFormat format_;
  const PredictionColumns columns_;
  const std::shared_ptr<ArrowOutput> output_;  // shared with Arrow's writer
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> csv_;  // one of the two; shared as Arrow gives it
  std::unique_ptr<parquet::arrow::FileWriter> parquet_;
  arrow::StringBuilder sets_;
  arrow::Int64Builder example_ids_;
  arrow::Int64Builder group_ids_;
  std::vector<arrow::FloatBuilder> predictions_;
  std::vector<arrow::FloatBuilder> labels_;
};

}  // namespace

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
  auto writer = std::make_unique<ArrowPredictionWriter>(file, format, columns);
  RETURN_IF_ERROR(writer->open());
  return writer;
}

}  // namespace millrace
