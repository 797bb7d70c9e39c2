// The extension millrace._train: training with parts in Python. python/millrace/_train.pyi declares
// its functions.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/file_system.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "distributed/rank_environment.h"
#include "framework/trainer.h"
#include "job/checked_job.h"
#include "job/job.h"
#include "python/gil.h"
#include "python/outcome.h"
#include "python/python_checkpoint.h"
#include "python/python_dataset.h"
#include "python/python_hook.h"
#include "python/python_metric.h"
#include "python/python_model.h"
#include "python/python_predictor.h"
#include "tools/config_flags.h"
#include "tools/model_run.h"
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

// A call of millrace, which is the run in progress during its lifetime. REQUIRES of all functions:
// the GIL is held.
class Run {
 public:
  // Registers the metrics. Exceptions: RuntimeError if another run is in progress.
  Run(const py::object& module, const py::dict& metrics, const py::object& support)
      : run_{module, support, metrics, {}} {
    if (current_run() != nullptr) {
      throw std::runtime_error(
          "another call of millrace in this process is not finished; wait for it, or use "
          "processes");
    }
    prepare_once();
    registered_ = register_python_metrics(metrics);
    current_run() = &run_;
  }
  ~Run() { current_run() = nullptr; }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  // Calls a function without the GIL, unless a metric could not be registered. Returns
  // outcome_of() its StatusOr, with the first exception of Python.
  template <typename Call>
  py::tuple outcome(Call&& call) const {
    if (!registered_.ok()) return outcome_of(registered_);
    auto result = without_gil(std::forward<Call>(call));
    return outcome_of(std::move(result), run_.error);
  }

 private:
  PythonRun run_;
  absl::Status registered_;
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

py::tuple train(const std::string& config, std::vector<std::string> set, bool overwrite,
                const py::object& module, const std::vector<py::object>& hooks,
                const py::dict& metrics, const py::object& support) {
  Run run(module, metrics, support);
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
  return run.outcome([&]() -> absl::StatusOr<std::pair<std::string, int>> {
    ASSIGN_OR_RETURN(TrainOutcome done, run_training(flags, additions));
    return std::make_pair(std::move(done.summary), done.exit_code);
  });
}

// Fills the flags of evaluate() and predict(). `config` "": the job of the checkpoint.
void set_model_flags(const std::string& checkpoint, const std::string& config,
                     std::vector<std::string> set, const std::string& weights, bool has_module,
                     ModelFlags& flags) {
  static_cast<ConfigFlags&>(flags) = flags_of(config, std::move(set), has_module);
  flags.checkpoint = checkpoint;
  flags.weights = weights;
}

py::tuple evaluate(const std::string& checkpoint, const std::string& config,
                   std::vector<std::string> set, const std::string& weights,
                   const py::object& module, const py::dict& metrics, const py::object& support) {
  Run run(module, metrics, support);
  ModelFlags flags;
  set_model_flags(checkpoint, config, std::move(set), weights, !module.is_none(), flags);
  return run.outcome([&] { return run_evaluation(flags); });
}

py::tuple predict(const std::string& checkpoint, const std::string& config,
                  std::vector<std::string> set, const std::string& weights,
                  const py::object& module, const std::string& output, const py::object& data,
                  std::vector<std::string> keep, bool overwrite, const py::dict& metrics,
                  const py::object& support) {
  Run run(module, metrics, support);
  PredictFlags flags;
  set_model_flags(checkpoint, config, std::move(set), weights, !module.is_none(), flags);
  flags.output = output;
  if (!data.is_none()) flags.data = py::cast<std::string>(data);
  flags.keep = std::move(keep);
  flags.overwrite = overwrite;
  return run.outcome([&] { return run_prediction(flags); });
}

py::tuple check(const std::string& config, std::vector<std::string> set, const py::object& module,
                const py::dict& metrics, const py::object& support) {
  Run run(module, metrics, support);
  const ConfigFlags flags = flags_of(config, std::move(set), !module.is_none());
  return run.outcome([&]() -> absl::StatusOr<std::vector<std::string>> {
    ASSIGN_OR_RETURN(const RankEnvironment ranks, read_rank_environment());
    ASSIGN_OR_RETURN(const CheckedJob job, load_job(FileSystem::local(), flags, ranks.world_size));
    JobResources resources;
    resources.local_world_size = ranks.local_world_size;
    absl::StatusOr<std::vector<std::string>> unmade = check_parts(job, resources);
    RETURN_IF_ERROR(name_file(unmade.status(), flags.config));
    return unmade;
  });
}

}  // namespace

PYBIND11_MODULE(_train, extension) {
  add_context_class(extension);
  add_checkpoint_class(extension);
  add_predictor_class(extension);
  add_dataset_class(extension);
  extension.def("train", &train, py::arg("config"), py::arg("set"), py::arg("overwrite"),
                py::arg("module"), py::arg("hooks"), py::arg("metrics"), py::arg("support"));
  extension.def("evaluate", &evaluate, py::arg("checkpoint"), py::arg("config"), py::arg("set"),
                py::arg("weights"), py::arg("module"), py::arg("metrics"), py::arg("support"));
  extension.def("predict", &predict, py::arg("checkpoint"), py::arg("config"), py::arg("set"),
                py::arg("weights"), py::arg("module"), py::arg("output"), py::arg("data"),
                py::arg("keep"), py::arg("overwrite"), py::arg("metrics"), py::arg("support"));
  extension.def("check", &check, py::arg("config"), py::arg("set"), py::arg("module"),
                py::arg("metrics"), py::arg("support"));
  extension.def("gil_acquisitions", [] {
    return py::dict(py::arg("model") = CountedGil::count(GilUse::kModel),
                    py::arg("hook") = CountedGil::count(GilUse::kHook),
                    py::arg("metric") = CountedGil::count(GilUse::kMetric));
  });
}

}  // namespace millrace
