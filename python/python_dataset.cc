#include "python/python_dataset.h"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/status_macros.h"
#include "io/cursor_state.h"
#include "io/window/window_cursor.h"
#include "job/checked_job.h"
#include "job/generated_data.h"
#include "job/job.h"
#include "python/outcome.h"
#include "python/python_model.h"
#include "python/tensors.h"
#include "tools/config_flags.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

// The share of one rank of the data of a job. Its functions release the GIL while they read. A call
// of a second thread during that time raises RuntimeError.
class DataReader {
 public:
  static absl::StatusOr<std::unique_ptr<DataReader>> open(const ConfigFlags& flags,
                                                          const std::string& set, int rank,
                                                          int world_size) {
    auto reader = std::make_unique<DataReader>();
    reader->rank_ = rank;
    reader->world_size_ = world_size;
    ASSIGN_OR_RETURN(const CheckedJob job, load_job(FileSystem::local(), flags, world_size));
    if (rank == 0) {
      RETURN_IF_ERROR(
          make_generated_data(FileSystem::local(), job.config().train(), /*overwrite=*/false)
              .status());
    }
    ASSIGN_OR_RETURN(reader->opened_, open_job_data(job, JobResources(), set, rank, world_size));
    return reader;
  }

  ~DataReader() {
    // Joins threads that read. open() has released the GIL.
    std::optional<py::gil_scoped_release> released;
    if (PyGILState_Check()) released.emplace();
    opened_ = JobDataset();
  }

  absl::Status start_epoch(int64_t epoch) {
    return exclusive([&] { return opened_.data->start_epoch(epoch); });
  }

  absl::Status seek(const std::string& bytes) {
    CursorState state;
    if (!state.ParseFromString(bytes)) {
      return absl::InvalidArgumentError("the state of the dataset is damaged");
    }
    ASSIGN_OR_RETURN(cursor_, from_state(state));
    // seek() takes the cursors of all ranks; the rest of the others does not matter here.
    std::vector<Cursor> cursors(world_size_, nothing_left(cursor_.epoch, nullptr, 0));
    cursors[rank_] = cursor_;
    return exclusive([&] { return opened_.data->seek(cursors); });
  }

  // Returns none at the end of an epoch or window.
  absl::StatusOr<std::optional<Batch>> next() {
    absl::StatusOr<std::optional<Batch>> batch = exclusive([&] { return opened_.data->next(); });
    if (!batch.ok()) return batch;
    if (batch->has_value()) {
      cursor_ = (*batch)->cursor;
    } else if (window_.has_value()) {
      leave_window(*window_, cursor_);
    }
    return batch;
  }

  // Returns the position after the last batch, or after the window that next() has completed.
  std::string cursor() const { return to_state(cursor_).SerializeAsString(); }

  bool windowed() const { return opened_.windows != nullptr; }

  absl::StatusOr<WindowState> next_window() {
    absl::StatusOr<WindowState> state = exclusive([&] { return opened_.windows->next_window(); });
    if (state.ok() && state->kind == WindowState::kReady) window_ = state->window;
    return state;
  }

 private:
  template <typename Call>
  auto exclusive(Call&& call) -> decltype(call()) {
    if (busy_) throw std::runtime_error("another thread reads this millrace.Dataset");
    busy_ = true;
    auto result = without_gil(std::forward<Call>(call));
    busy_ = false;
    return result;
  }

  int rank_ = 0;
  int world_size_ = 1;
  JobDataset opened_;
  Cursor cursor_;
  std::optional<Window> window_;  // opened last
  bool busy_ = false;             // guarded by the GIL
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
                    flags.change = [](JobConfig* job) {  // the model may be a module
                      TrainConfig& train = *job->mutable_train();
                      if (!train.has_model()) train.mutable_model()->set_name(kPythonModel);
                    };
                    return outcome_of(without_gil(
                        [&] { return DataReader::open(flags, part, rank, world_size); }));
                  })
      .def("start_epoch",
           [](DataReader& reader, int64_t epoch) { return outcome_of(reader.start_epoch(epoch)); })
      .def("seek", [](DataReader& reader,
                      const py::bytes& cursor) { return outcome_of(reader.seek(cursor)); })
      .def("next",
           [](DataReader& reader, const py::object& support) -> py::tuple {
             const absl::StatusOr<std::optional<Batch>> batch = reader.next();
             if (!batch.ok()) return outcome_of(batch.status());
             py::object made = py::none();
             if (batch->has_value()) made = batch_to_python(**batch, support);
             return py::make_tuple(py::none(), py::make_tuple(made, py::bytes(reader.cursor())));
           })
      .def_property_readonly("windowed", &DataReader::windowed)
      .def("next_window", [](DataReader& reader, const py::object& support) -> py::tuple {
        const absl::StatusOr<WindowState> state = reader.next_window();
        if (!state.ok()) return outcome_of(state.status());
        py::object window = py::none();
        if (state->kind == WindowState::kReady) window = window_to_python(state->window, support);
        return py::make_tuple(py::none(),
                              py::make_tuple(window, state->kind == WindowState::kEnded));
      });
}

}  // namespace millrace
