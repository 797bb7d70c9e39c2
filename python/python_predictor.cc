#include "python/python_predictor.h"

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "python/outcome.h"
#include "python/tensors.h"
#include "serving/served_model.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

// Returns a column of `values`, int64 [n] or float64 [n] or texts, and of `lengths`, int64 [rows]
// or None. REQUIRES: tensors are contiguous; the GIL is held.
absl::StatusOr<Column> column_of(const std::string& name, py::handle values, py::handle lengths) {
  Column column;
  int64_t count = 0;
  const at::Tensor numbers = from_python(values);
  if (!numbers.defined()) {
    column.type = ValueType::kString;
    for (const py::handle text : values) column.strings.push_back(text.cast<std::string>());
    count = column.strings.size();
  } else if (numbers.scalar_type() == at::kLong) {
    const auto* const data = numbers.const_data_ptr<int64_t>();
    column.int64s.assign(data, data + numbers.numel());
    count = numbers.numel();
  } else {
    column.type = ValueType::kDouble;
    const auto* const data = numbers.const_data_ptr<double>();
    column.doubles.assign(data, data + numbers.numel());
    count = numbers.numel();
  }
  column.rows = count;
  const at::Tensor of_rows = from_python(lengths);
  if (!of_rows.defined()) return column;
  const absl::Status set = set_row_lengths(
      absl::StrCat("column \"", name, "\": "), count,
      absl::MakeConstSpan(of_rows.const_data_ptr<int64_t>(), of_rows.numel()), &column);
  if (!set.ok()) return set;
  return column;
}

py::tuple predict(ServedModel& model, const py::dict& columns) {
  RequestColumns request;
  int64_t rows = 0;
  for (const auto& [name, given] : columns) {
    const auto text = name.cast<std::string>();
    const auto pair = given.cast<py::tuple>();
    absl::StatusOr<Column> column = column_of(text, pair[0], pair[1]);
    if (!column.ok()) return outcome_of(column.status());
    rows = column->rows;
    request[text] = *std::move(column);
  }
  const absl::StatusOr<Predictions> predictions =
      without_gil([&] { return model.predictor().predict(std::move(request), rows); });
  if (!predictions.ok()) return outcome_of(predictions.status());
  const at::Tensor values =
      at::tensor(predictions->values).view({predictions->rows, predictions->tasks});
  return outcome_of(absl::StatusOr<py::object>(
      py::object(py::make_tuple(to_python(values), predictions->version->step))));
}

}  // namespace

void add_predictor_class(py::module_& extension) {
  py::class_<ServedModel>(extension, "ServedModel", "A model without its trainer.")
      .def_static("open",
                  [](const std::string& path, int workers, int threads) {
                    return outcome_of(without_gil([&] {
                      return ServedModel::open(ObjectFiles::process(), path,
                                               {.workers = workers, .threads = threads});
                    }));
                  })
      .def("predict", &predict)
      .def("follow",
           [](ServedModel& model) {
             const py::gil_scoped_release released;
             return model.follow();
           })
      .def("columns",
           [](const ServedModel& model) {
             std::vector<std::string> names;
             for (const RequestFeature& feature : model.predictor().features()) {
               names.push_back(feature.column);
             }
             return names;
           })
      .def("labels", [](const ServedModel& model) { return model.predictor().labels(); })
      .def("version", [](const ServedModel& model) {
        const auto version = model.predictor().version();
        return py::make_tuple(version->path, version->step);
      });
}

}  // namespace millrace
