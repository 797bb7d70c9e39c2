// The extension millrace._train: training with parts in Python. python/millrace/_train.pyi declares
// its functions.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/catch_exceptions.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "distributed/rank_environment.h"
#include "framework/trainer.h"
#include "job/checked_job.h"
#include "job/job.h"
#include "python/gil.h"
#include "python/python_hook.h"
#include "python/python_model.h"
#include "tools/config_flags.h"
#include "tools/exit_code.h"
#include "tools/process_start.h"
#include "tools/train_run.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

// Prepares the process for its first run.
void prepare_once() {
  static const bool prepared = [] {
    initialize_logging("millrace");
    raise_file_limit();
    return true;
  }();
  (void)prepared;
}

// Makes a run the one in progress, during its lifetime. REQUIRES: the GIL is held at both ends.
class RunInProgress {
 public:
  explicit RunInProgress(PythonRun& run) {
    if (current_run() != nullptr) {
      throw std::runtime_error(
          "another call of millrace in this process is not finished; wait for it, or use "
          "processes");
    }
    current_run() = &run;
  }
  ~RunInProgress() { current_run() = nullptr; }
  RunInProgress(const RunInProgress&) = delete;
  RunInProgress& operator=(const RunInProgress&) = delete;
};

ConfigFlags flags_of(const std::string& config, std::vector<std::string> set, bool has_module) {
  ConfigFlags flags;
  flags.config = config;
  flags.set = std::move(set);
  flags.uses_device = true;
  if (has_module) {
    flags.change = [](JobConfig* job) {
      job->mutable_train()->mutable_model()->Clear();
      job->mutable_train()->mutable_model()->set_name(kPythonModel);
    };
  }
  return flags;
}

// Returns (None, value), or (message, (name of the status code, exit code, exception or None)).
template <typename T>
py::tuple outcome_of(const absl::StatusOr<T>& outcome, const PythonRun& run) {
  if (outcome.ok()) return py::make_tuple(py::none(), *outcome);
  const absl::Status& status = outcome.status();
  return py::make_tuple(std::string(status.message()),
                        py::make_tuple(absl::StatusCodeToString(status.code()), exit_code(status),
                                       run.error ? run.error : py::object(py::none())));
}

py::tuple train(const std::string& config, std::vector<std::string> set, bool overwrite,
                const py::object& module, const std::vector<py::object>& hooks,
                const py::object& support) {
  PythonRun run{module, support, {}};
  const RunInProgress in_progress(run);
  prepare_once();
  ConfigFlags flags = flags_of(config, std::move(set), !module.is_none());
  flags.overwrite = overwrite;
  TrainAdditions additions;
  additions.add_hooks = [&hooks](Trainer& trainer, const RankEnvironment& ranks) -> absl::Status {
    for (size_t i = 0; i < hooks.size(); ++i) {
      py::object hook;
      {
        const py::gil_scoped_acquire gil;
        hook = hooks[i];
      }
      ASSIGN_OR_RETURN(std::unique_ptr<Hook> made, PythonHook::create(std::move(hook), ranks));
      RETURN_IF_ERROR(trainer.add_hook(std::move(made)));
    }
    return absl::OkStatus();
  };
  absl::StatusOr<std::pair<std::string, int>> outcome;
  {
    const py::gil_scoped_release released;
    outcome = catch_exceptions([&]() -> absl::StatusOr<std::pair<std::string, int>> {
      ASSIGN_OR_RETURN(TrainOutcome done, run_training(flags, additions));
      return std::make_pair(std::move(done.summary), done.exit_code);
    });
  }
  return outcome_of(outcome, run);
}

py::tuple check(const std::string& config, std::vector<std::string> set, const py::object& module,
                const py::object& support) {
  PythonRun run{module, support, {}};
  const RunInProgress in_progress(run);
  prepare_once();
  const ConfigFlags flags = flags_of(config, std::move(set), !module.is_none());
  absl::StatusOr<std::vector<std::string>> outcome;
  {
    const py::gil_scoped_release released;
    outcome = catch_exceptions([&]() -> absl::StatusOr<std::vector<std::string>> {
      ASSIGN_OR_RETURN(const RankEnvironment ranks, read_rank_environment());
      ASSIGN_OR_RETURN(const CheckedJob job,
                       load_job(FileSystem::local(), flags, ranks.world_size));
      JobResources resources;
      resources.local_world_size = ranks.local_world_size;
      absl::StatusOr<std::vector<std::string>> unmade = check_parts(job, resources);
      RETURN_IF_ERROR(name_file(unmade.status(), flags.config));
      return unmade;
    });
  }
  return outcome_of(outcome, run);
}

}  // namespace

PYBIND11_MODULE(_train, extension) {
  add_context_class(extension);
  extension.def("train", &train, py::arg("config"), py::arg("set"), py::arg("overwrite"),
                py::arg("module"), py::arg("hooks"), py::arg("support"));
  extension.def("check", &check, py::arg("config"), py::arg("set"), py::arg("module"),
                py::arg("support"));
  extension.def("gil_acquisitions", [] {
    return py::dict(py::arg("model") = CountedGil::count(GilUse::kModel),
                    py::arg("hook") = CountedGil::count(GilUse::kHook));
  });
}

}  // namespace millrace
