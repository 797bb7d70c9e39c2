#include "checkpoint/inspect/checkpoint_content.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "base/text.h"

namespace millrace {
namespace {

constexpr char kIds[] = "ids";

TensorInfo info_of(const CheckpointManifest::Tensor& tensor) {
  TensorInfo info;
  info.name = tensor.name();
  info.type = tensor_type_of_name(tensor.dtype()).value_or(TensorType::kU8);
  info.shape.assign(tensor.shape().begin(), tensor.shape().end());
  return info;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointContent>> CheckpointContent::open(
    FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(Chain chain, open_chain(files, path));
  return std::make_unique<CheckpointContent>(std::move(chain));
}

std::vector<TensorInfo> CheckpointContent::dense_tensors() const {
  std::vector<TensorInfo> tensors;
  for (const auto& file : manifest().files()) {
    if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
    for (const auto& tensor : file.tensors()) tensors.push_back(info_of(tensor));
  }
  std::sort(tensors.begin(), tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return a.name < b.name; });
  return tensors;
}

std::vector<TensorInfo> CheckpointContent::tensors() const {
  std::vector<TensorInfo> tensors = dense_tensors();
  for (const auto& table : manifest().tables()) {
    const std::vector<TableColumn> columns = table_columns(manifest(), table.name());
    if (columns.empty()) continue;
    const std::string prefix = absl::StrCat("table/", table.name(), "/");
    tensors.push_back({prefix + kIds, TensorType::kI64, {table.rows()}});
    for (const TableColumn& column : columns) {
      tensors.push_back({prefix + column.name, column.type, column.shape(table.rows())});
    }
  }
  return tensors;
}

absl::StatusOr<TensorInfo> CheckpointContent::find(absl::string_view name) const {
  std::vector<std::string> names;
  for (TensorInfo& tensor : tensors()) {
    if (tensor.name == name) return std::move(tensor);
    names.push_back(std::move(tensor.name));
  }
  return absl::NotFoundError(
      absl::StrCat(directory(), " has no tensor \"", name, "\"", did_you_mean(name, names)));
}

absl::StatusOr<std::string> CheckpointContent::read(absl::string_view name) const {
  RETURN_IF_ERROR(find(name).status());
  absl::string_view rest = name;
  if (!absl::ConsumePrefix(&rest, "table/")) return read_dense(name);
  const size_t slash = rest.find('/');
  return read_column(rest.substr(0, slash), std::string(rest.substr(slash + 1)));
}

absl::StatusOr<std::string> CheckpointContent::read_dense(absl::string_view name) const {
  const CheckpointReader& checkpoint = *chain_.back();
  for (const auto& file : manifest().files()) {
    if (file.kind() != CheckpointManifest::DENSE_FILE) continue;
    for (const auto& tensor : file.tensors()) {
      if (tensor.name() != name) continue;
      RETURN_IF_ERROR(checkpoint.layout(file).status());
      ASSIGN_OR_RETURN(const std::unique_ptr<ChunkedFile> opened, checkpoint.open_file(file));
      const TensorInfo info = info_of(tensor);
      std::string bytes(tensor_bytes(info.type, info.shape).value_or(0), '\0');
      RETURN_IF_ERROR(opened->read(tensor.offset(), absl::MakeSpan(bytes)));
      return bytes;
    }
  }
  return absl::NotFoundError(absl::StrCat(directory(), " has no tensor \"", name, "\""));
}

absl::StatusOr<std::string> CheckpointContent::read_column(absl::string_view table,
                                                           const std::string& column) const {
  const bool is_ids = column == kIds;
  ASSIGN_OR_RETURN(const auto rows, scan(table, is_ids ? std::vector<std::string>{}
                                                       : std::vector<std::string>{column}));
  std::string bytes;
  for (RowBlock block;;) {
    RETURN_IF_ERROR(rows->next(&block));
    if (block.rows() == 0) return bytes;
    if (is_ids) {
      bytes.append(reinterpret_cast<const char*>(block.ids.data()),
                   block.ids.size() * sizeof(int64_t));
    } else {
      bytes += block.columns[0];
    }
  }
}

}  // namespace millrace
