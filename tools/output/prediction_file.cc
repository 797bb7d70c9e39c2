#include "tools/output/prediction_file.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

template <typename T>
absl::Span<const T> as_span(const at::Tensor& tensor) {
  if (!tensor.defined()) return {};
  return {tensor.const_data_ptr<T>(), static_cast<size_t>(tensor.numel())};
}

at::Tensor as_ids(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kCPU, at::kLong).contiguous() : tensor;
}

at::Tensor as_floats(const at::Tensor& tensor) {
  return tensor.to(at::kCPU, at::kFloat).contiguous();
}

}  // namespace

PredictionFile::PredictionFile(WritableFile& file, PredictionFormat format,
                               std::vector<std::string> tasks, bool with_set,
                               std::vector<bool> masked,
                               const std::vector<std::string>& kept_columns)
    : file_(file), format_(format), masked_(std::move(masked)) {
  columns_.tasks = std::move(tasks);
  columns_.with_set = with_set;
  for (const std::string& name : kept_columns) columns_.kept.push_back({.name = name});
}

absl::Status PredictionFile::append(const Batch& batch, const StepResult& result) {
  const at::Tensor predictions = as_floats(result.predictions);
  const at::Tensor labels = as_floats(result.labels);
  const at::Tensor example_ids = as_ids(batch.example_ids);
  const at::Tensor group_ids = as_ids(batch.group_ids);
  std::shared_ptr<const std::vector<Column>> kept = batch.kept;  // shared with the batch
  RETURN_IF_ERROR(check_kept(example_ids.numel(), &kept));
  // A file has one header, so the first batch decides the columns.
  if (writer_ == nullptr) {
    for (size_t i = 0; i < columns_.kept.size(); ++i) columns_.kept[i].type = (*kept)[i].type;
    columns_.with_label = known_labels(labels);
    columns_.with_group_ids = group_ids.defined();
    RETURN_IF_ERROR(open_writer());
  }
  RETURN_IF_ERROR(check_columns(labels));
  PredictionRows rows;
  rows.set = set_;
  rows.example_ids = as_span<int64_t>(example_ids);
  rows.group_ids = as_span<int64_t>(group_ids);
  rows.predictions = as_span<float>(predictions);
  rows.labels = as_span<float>(labels);
  if (!columns_.kept.empty()) rows.kept = *kept;
  RETURN_IF_ERROR(writer_->append(rows));
  examples_ += example_ids.numel();
  return absl::OkStatus();
}

// Returns per task whether to write its label: the data has the label, or examples may lack it.
std::vector<bool> PredictionFile::known_labels(const at::Tensor& labels) const {
  std::vector<bool> known;
  const absl::Span<const float> values = as_span<float>(labels);
  for (int64_t task = 0; task < labels.size(1); ++task) {
    const bool masked = !masked_.empty() && masked_[task];
    const bool has_label = with_labels_.empty() ? !std::isnan(values[task]) : with_labels_[task];
    known.push_back(masked || has_label);
  }
  return known;
}

// Checks that the batch has the kept columns, with the types of the file.
absl::Status PredictionFile::check_kept(int64_t rows,
                                        std::shared_ptr<const std::vector<Column>>* kept) const {
  if (columns_.kept.empty()) return absl::OkStatus();
  const auto fits = [rows](const Column& column) {
    return static_cast<int64_t>(column.rows) == rows;
  };
  if (*kept == nullptr || (*kept)->size() != columns_.kept.size() ||
      !std::all_of((*kept)->begin(), (*kept)->end(), fits)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the dataset of set \"", set_, "\" does not give columns of its files unchanged"));
  }
  for (size_t i = 0; i < (*kept)->size() && writer_ != nullptr; ++i) {
    const ValueType type = (**kept)[i].type;
    if (type == columns_.kept[i].type) continue;
    if ((**kept)[i].values() == 0) {  // it has the type of no column with values
      auto typed = std::make_shared<std::vector<Column>>(**kept);
      (*typed)[i].type = columns_.kept[i].type;
      *kept = std::move(typed);
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "column \"", columns_.kept[i].name, "\" holds ", describe(type), " in set \"", set_,
        "\", but ", describe(columns_.kept[i].type), " in a set before it; predict them apart"));
  }
  return absl::OkStatus();
}

absl::Status PredictionFile::open_writer() {
  ASSIGN_OR_RETURN(writer_, PredictionWriter::open(file_, format_, columns_));
  return absl::OkStatus();
}

absl::Status PredictionFile::check_columns(const at::Tensor& labels) const {
  const std::vector<bool> known = known_labels(labels);
  for (size_t task = 0; task < known.size(); ++task) {
    if (known[task] == columns_.with_label[task]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the data of set \"", set_, "\" ", known[task] ? "has" : "lacks", " the label \"",
        columns_.tasks[task], "\", unlike that of a set before it; predict them apart"));
  }
  return absl::OkStatus();
}

std::string PredictionFile::columns() const {
  if (writer_ == nullptr) return "";
  std::string text = columns_.with_group_ids ? "g" : "-";
  for (const bool with_label : columns_.with_label) text.push_back(with_label ? 'l' : '-');
  for (const KeptColumn& kept : columns_.kept) {
    text.push_back(static_cast<char>('0' + static_cast<int>(kept.type)));
  }
  return text;
}

absl::Status PredictionFile::finish(absl::string_view columns_of_others) {
  if (writer_ == nullptr) {
    if (columns_of_others.empty()) return absl::OkStatus();
    columns_.with_group_ids = columns_of_others[0] == 'g';
    const size_t tasks = columns_.tasks.size();
    columns_.with_label.clear();
    for (const char label : columns_of_others.substr(1, tasks)) {
      columns_.with_label.push_back(label == 'l');
    }
    for (size_t i = 0; i < columns_.kept.size(); ++i) {
      columns_.kept[i].type = static_cast<ValueType>(columns_of_others[1 + tasks + i] - '0');
    }
    RETURN_IF_ERROR(open_writer());
  } else if (!columns_of_others.empty() && columns_of_others != columns()) {
    return absl::InvalidArgumentError(
        "the data of two ranks differs in its columns of labels or groups, or in the types of kept "
        "columns; predict files with and without such a column apart");
  }
  const absl::Status status = writer_->finish();
  writer_.reset();
  return status;
}

}  // namespace millrace
