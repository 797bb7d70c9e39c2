#include "python/python_checkpoint.h"

#include <ATen/ATen.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_path.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "checkpoint/inspect/checkpoint_diff.h"
#include "checkpoint/objects/object_files.h"
#include "checkpoint/state/torch_types.h"
#include "python/outcome.h"
#include "python/tensors.h"
#include "tools/checkpoint/checkpoint_diff_report.h"
#include "tools/checkpoint/checkpoint_report.h"
#include "tools/checkpoint/checkpoint_values.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

using Tensors = std::vector<std::pair<std::string, at::Tensor>>;

absl::StatusOr<at::Tensor> new_tensor(TensorType type, const std::vector<int64_t>& shape,
                                      absl::string_view name) {
  const std::optional<at::ScalarType> scalar = scalar_type_of(type);
  if (!scalar.has_value()) {
    return absl::UnimplementedError(
        absl::StrCat(name, " is ", tensor_type_name(type), ", which torch does not have"));
  }
  return at::zeros(shape, *scalar);
}

char* bytes_of(at::Tensor& tensor) { return static_cast<char*>(tensor.mutable_data_ptr()); }

// An open checkpoint.
class CheckpointFile {
 public:
  explicit CheckpointFile(std::unique_ptr<CheckpointContent> content)
      : content_(std::move(content)) {}

  static absl::StatusOr<CheckpointFile> open(const std::string& path) {
    ThreadPool threads(1);
    ASSIGN_OR_RETURN(NewestCheckpoint found,
                     open_checkpoint(ObjectFiles::process(), path, Check::kQuick, threads));
    return CheckpointFile(std::make_unique<CheckpointContent>(std::move(found.chain)));
  }

  std::string json() const { return show_json(*content_->chain().back()); }

  absl::StatusOr<Tensors> model() const {
    Tensors tensors;
    for (const TensorInfo& info : content_->dense_tensors()) {
      if (!is_of_model(info.name) || is_of_average(info.name)) continue;
      ASSIGN_OR_RETURN(at::Tensor tensor, new_tensor(info.type, info.shape, info.name));
      ASSIGN_OR_RETURN(const std::string bytes, content_->read(info.name));
      std::memcpy(bytes_of(tensor), bytes.data(), bytes.size());
      tensors.emplace_back(info.name, std::move(tensor));
    }
    return tensors;
  }

  // Returns the values of `ids` in a column, and per id whether it has a row; other values are 0.
  absl::StatusOr<std::pair<at::Tensor, at::Tensor>> rows(const std::string& table,
                                                         const std::string& column,
                                                         absl::Span<const int64_t> ids) const {
    ASSIGN_OR_RETURN(const TableColumn of, column_of(table, column));
    ASSIGN_OR_RETURN(const RowBlock read, content_->read_rows(table, {column}, ids));
    const auto count = static_cast<int64_t>(ids.size());
    ASSIGN_OR_RETURN(at::Tensor values, new_tensor(of.type, of.shape(count), column));
    at::Tensor found = at::zeros({count}, at::kBool);
    int64_t next = 0;  // of the rows, which are in the order of ids
    for (int64_t i = 0; i < count && next < read.rows(); ++i) {
      if (read.ids[next] != ids[i]) continue;
      const absl::string_view row = read.row(0, next++, of.row_bytes());
      std::memcpy(bytes_of(values) + i * of.row_bytes(), row.data(), row.size());
      found.mutable_data_ptr<bool>()[i] = true;
    }
    return std::make_pair(std::move(values), std::move(found));
  }

  // Returns the ids of a table, and the column of their rows.
  absl::StatusOr<std::pair<at::Tensor, at::Tensor>> all_rows(const std::string& table,
                                                             const std::string& column) const {
    ASSIGN_OR_RETURN(const TableColumn of, column_of(table, column));
    ASSIGN_OR_RETURN(const auto scan, content_->scan(table, {column}));
    std::vector<int64_t> ids;
    std::string bytes;
    for (RowBlock block;;) {
      RETURN_IF_ERROR(scan->next(&block));
      if (block.rows() == 0) break;
      ids.insert(ids.end(), block.ids.begin(), block.ids.end());
      bytes += block.columns[0];
    }
    const auto count = static_cast<int64_t>(ids.size());
    ASSIGN_OR_RETURN(at::Tensor values, new_tensor(of.type, of.shape(count), column));
    if (count > 0) std::memcpy(bytes_of(values), bytes.data(), bytes.size());
    return std::make_pair(at::tensor(ids, at::kLong), std::move(values));
  }

  absl::StatusOr<std::vector<std::string>> columns(const std::string& table) const {
    RETURN_IF_ERROR(find_columns(content_->manifest(), table, {}).status(), content_->directory());
    std::vector<std::string> names;
    for (const TableColumn& column : table_columns(content_->manifest(), table)) {
      names.push_back(column.name);
    }
    return names;
  }

  absl::StatusOr<std::vector<int64_t>> ids_of(const std::string& table,
                                              const std::vector<std::string>& texts) const {
    ASSIGN_OR_RETURN(AskedRows asked, asked_rows(content_->manifest(), table, texts, /*text=*/true,
                                                 ObjectFiles::process()));
    return std::move(asked.ids);
  }

  absl::StatusOr<std::string> diff(const CheckpointFile& other) const {
    ASSIGN_OR_RETURN(const CheckpointDiff difference,
                     compare_checkpoints(*content_, *other.content_));
    return diff_json(difference);
  }

 private:
  absl::StatusOr<TableColumn> column_of(const std::string& table, const std::string& column) const {
    ASSIGN_OR_RETURN(const std::vector<TableColumn> found,
                     find_columns(content_->manifest(), table, {column}), content_->directory());
    return found[0];
  }

  std::unique_ptr<CheckpointContent> content_;
};

absl::StatusOr<py::object> pair_to_python(
    const absl::StatusOr<std::pair<at::Tensor, at::Tensor>>& pair) {
  RETURN_IF_ERROR(pair.status());
  return py::object(py::make_tuple(to_python(pair->first), to_python(pair->second)));
}

}  // namespace

void add_checkpoint_class(py::module_& extension) {
  using File = CheckpointFile;
  py::class_<File>(extension, "CheckpointFile", "An open checkpoint.")
      .def_static("open",
                  [](const std::string& path) {
                    return outcome_of(without_gil([&] { return File::open(path); }));
                  })
      .def("json", &File::json)
      .def("model",
           [](const File& file) -> py::tuple {
             absl::StatusOr<Tensors> read = without_gil([&] { return file.model(); });
             if (!read.ok()) return outcome_of(read.status());
             py::dict tensors;
             for (const auto& [name, tensor] : *read) tensors[py::str(name)] = to_python(tensor);
             return py::make_tuple(py::none(), tensors);
           })
      .def("rows",
           [](const File& file, const std::string& table, const std::string& column,
              const py::object& ids) {
             const at::Tensor asked = from_python(ids);
             const absl::Span<const int64_t> numbers(asked.const_data_ptr<int64_t>(),
                                                     asked.numel());
             return outcome_of(
                 pair_to_python(without_gil([&] { return file.rows(table, column, numbers); })));
           })
      .def("all_rows",
           [](const File& file, const std::string& table, const std::string& column) {
             return outcome_of(
                 pair_to_python(without_gil([&] { return file.all_rows(table, column); })));
           })
      .def("columns", [](const File& file,
                         const std::string& table) { return outcome_of(file.columns(table)); })
      .def("ids_of",
           [](const File& file, const std::string& table, const std::vector<std::string>& texts) {
             absl::StatusOr<std::vector<int64_t>> ids =
                 without_gil([&] { return file.ids_of(table, texts); });
             if (!ids.ok()) return outcome_of(ids.status());
             return outcome_of(absl::StatusOr<py::object>(to_python(at::tensor(*ids, at::kLong))));
           })
      .def("diff", [](const File& file, const File& other) {
        return outcome_of(without_gil([&] { return file.diff(other); }));
      });
}

}  // namespace millrace
