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
#include "serving/follower.h"
#include "serving/predictor.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

// A predictor, and the folder whose newest checkpoint it takes.
class ServedModel {
 public:
  static absl::StatusOr<std::unique_ptr<ServedModel>> open(const std::string& path, int workers,
                                                           int threads) {
    auto model = std::make_unique<ServedModel>();
    ASSIGN_OR_RETURN(model->place_, resolve_served_place(ObjectFiles::process(), path));
    const ServedPlace& place = model->place_;
    ASSIGN_OR_RETURN(auto version, load_newest(place));
    ASSIGN_OR_RETURN(
        model->predictor_,
        Predictor::create(std::move(version),
                          {.workers = workers, .threads = threads, .files = place.files}));
    if (place.kind != ServedPlace::kCheckpoint) {
      model->follower_ =
          std::make_unique<Follower>(place, absl::InfiniteDuration(), *model->predictor_);
    }
    return model;
  }

  bool follow() { return follower_ != nullptr && follower_->poll(); }
  const Predictor& predictor() const { return *predictor_; }
  absl::StatusOr<Predictions> predict(RequestColumns columns, int64_t rows) {
    return predictor_->predict(std::move(columns), rows);
  }

 private:
  ServedPlace place_;  // first: the others borrow its files
  std::unique_ptr<Predictor> predictor_;
  std::unique_ptr<Follower> follower_;  // null: one checkpoint
};

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
  column.rows = of_rows.numel();
  column.offsets.assign(1, 0);
  for (int64_t row = 0; row < column.rows; ++row) {
    const int64_t length = of_rows.const_data_ptr<int64_t>()[row];
    if (length < 0 || length > count - column.offsets.back()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", name, "\": the lengths exceed its ", count, " values"));
    }
    column.offsets.push_back(column.offsets.back() + length);
  }
  if (column.offsets.back() == count) return column;
  return absl::InvalidArgumentError(absl::StrCat("column \"", name, "\" has ", count,
                                                 " values, but the lengths add up to ",
                                                 column.offsets.back()));
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
      without_gil([&] { return model.predict(std::move(request), rows); });
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
                    return outcome_of(
                        without_gil([&] { return ServedModel::open(path, workers, threads); }));
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
