#include "python/python_dataset.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "io/cursor_state.h"
#include "job/checked_job.h"
#include "job/job.h"
#include "python/outcome.h"
#include "python/tensors.h"
#include "tools/config_flags.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

// Reads one epoch, or one stream, from a position on. After an error of next() it is of no use.
class DataReader {
 public:
  static absl::StatusOr<std::unique_ptr<DataReader>> open(const ConfigFlags& flags,
                                                          const std::string& set, int rank,
                                                          int world_size) {
    ASSIGN_OR_RETURN(const CheckedJob job, load_job(FileSystem::local(), flags, world_size));
    auto reader = std::make_unique<DataReader>();
    ASSIGN_OR_RETURN(reader->opened_, open_job_data(job, JobResources(), set, rank, world_size));
    return reader;
  }

  absl::Status start_epoch(int64_t epoch) { return opened_.data->start_epoch(epoch); }

  absl::Status seek(const std::vector<std::string>& cursors) {
    std::vector<Cursor> parsed;
    for (const std::string& bytes : cursors) {
      CursorState state;
      if (!state.ParseFromString(bytes)) {
        return absl::InvalidArgumentError("the state of the dataset is damaged");
      }
      ASSIGN_OR_RETURN(parsed.emplace_back(), from_state(state));
    }
    return opened_.data->seek(parsed);
  }

  absl::StatusOr<std::optional<Batch>> next() { return opened_.data->next(); }

  bool windowed() const { return opened_.windows != nullptr; }
  absl::StatusOr<WindowState> next_window() { return opened_.windows->next_window(); }

 private:
  JobDataset opened_;
};

}  // namespace

py::object batch_to_python(const Batch& batch, const py::object& support) {
  const KeyedJagged& ids = batch.sparse;
  return support.attr("Batch")(batch.size, to_python(batch.dense), to_python(batch.labels),
                               to_python(batch.weights), to_python(batch.example_ids),
                               to_python(batch.group_ids), to_python(ids.values),
                               to_python(ids.offsets), to_python(ids.weights));
}

py::object window_to_python(const Window& window, const py::object& support) {
  return support.attr("Window")(window.index, window.name, window.examples_done);
}

void add_dataset_class(py::module_& extension) {
  py::class_<DataReader>(extension, "DataReader", "Reads the data of a job.")
      .def_static("open",
                  [](const std::string& config, std::vector<std::string> set,
                     const std::string& part, int rank, int world_size) {
                    ConfigFlags flags;
                    flags.config = config;
                    flags.set = std::move(set);
                    flags.uses_device = true;
                    return outcome_of(without_gil(
                        [&] { return DataReader::open(flags, part, rank, world_size); }));
                  })
      .def("start_epoch",
           [](DataReader& reader, int64_t epoch) {
             return outcome_of(without_gil([&] { return reader.start_epoch(epoch); }));
           })
      .def("seek",
           [](DataReader& reader, const std::vector<py::bytes>& cursors) {
             const std::vector<std::string> texts(cursors.begin(), cursors.end());
             return outcome_of(without_gil([&] { return reader.seek(texts); }));
           })
      .def("next",
           [](DataReader& reader, const py::object& support) -> py::tuple {
             absl::StatusOr<std::optional<Batch>> batch =
                 without_gil([&] { return reader.next(); });
             if (!batch.ok()) return outcome_of(batch.status());
             if (!batch->has_value()) return py::make_tuple(py::none(), py::none());
             const Batch& read = **batch;
             return py::make_tuple(
                 py::none(), py::make_tuple(batch_to_python(read, support),
                                            py::bytes(to_state(read.cursor).SerializeAsString())));
           })
      .def_property_readonly("windowed", &DataReader::windowed)
      .def("next_window", [](DataReader& reader, const py::object& support) -> py::tuple {
        const absl::StatusOr<WindowState> state = without_gil([&] { return reader.next_window(); });
        if (!state.ok()) return outcome_of(state.status());
        py::object window = py::none();
        if (state->kind == WindowState::kReady) window = window_to_python(state->window, support);
        return py::make_tuple(py::none(),
                              py::make_tuple(window, state->kind == WindowState::kEnded));
      });
}

}  // namespace millrace
