#include "python/python_hook.h"

#include <pybind11/stl.h>

#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"
#include "base/status_macros.h"
#include "python/gil.h"
#include "python/python_dataset.h"
#include "python/tensors.h"

namespace millrace {
namespace {

namespace py = ::pybind11;

constexpr int32_t kStateVersion = 1;

// The context of an event, as Python sees it; of no use after the event.
class ContextOfEvent {
 public:
  explicit ContextOfEvent(HookContext& context) : context_(&context) {}

  void end_event() { context_ = nullptr; }
  HookContext& get() const {
    if (context_ != nullptr) return *context_;
    throw std::runtime_error("the context of a hook ended with its event; use the new one");
  }

 private:
  HookContext* context_;
};

Scope scope_of(bool this_rank) { return this_rank ? Scope::kThisRank : Scope::kCommon; }

Reduction reduction_of(const std::string& name) {
  for (const Reduction reduction :
       {Reduction::kMean, Reduction::kSum, Reduction::kMin, Reduction::kMax, Reduction::kLast}) {
    if (reduction_name(reduction) == name) return reduction;
  }
  throw py::value_error("reduction \"" + name + "\": give mean, sum, min, max or last");
}

// Returns the result of a class or function of millrace._training.
template <typename... Members>
py::object make(const char* of_class, Members&&... members) {
  return current_run()->support.attr(of_class)(std::forward<Members>(members)...);
}

py::object window_of(const Window& window) {
  return window_to_python(window, current_run()->support);
}

py::dict values_of(const std::vector<StepValue>& values) {
  py::dict made;
  for (const StepValue& value : values) made[py::str(value.name)] = to_python(value.value);
  return made;
}

}  // namespace

void add_context_class(py::module_& extension) {
  using Context = ContextOfEvent;
  const auto progress = [](auto member) {
    return [member](const Context& context) { return context.get().progress().*member; };
  };
  py::class_<Context>(extension, "Context", "Access of a hook to the loop, during one event.")
      .def_property_readonly("phase",
                             [](const Context& context) {
                               return context.get().phase() == Phase::kTrain ? "train" : "evaluate";
                             })
      .def_property_readonly("step", progress(&Progress::step))
      .def_property_readonly("examples", progress(&Progress::examples))
      .def_property_readonly("epoch", progress(&Progress::epoch))
      .def_property_readonly("window", progress(&Progress::window))
      .def_property_readonly("skipped_steps", progress(&Progress::skipped_steps))
      .def_property_readonly("windowed",
                             [](const Context& context) { return context.get().windowed(); })
      .def_property_readonly("rank", [](const Context& context) { return context.get().rank(); })
      .def_property_readonly("world_size",
                             [](const Context& context) { return context.get().world_size(); })
      .def_property_readonly("report_due",
                             [](const Context& context) { return context.get().report_due(); })
      .def(
          "report",
          [](const Context& context, const std::string& name, double value,
             const std::string& reduction) {
            context.get().report(name, value, reduction_of(reduction));
          },
          py::arg("name"), py::arg("value"), py::arg("reduction") = "mean")
      .def(
          "evaluate",
          [](const Context& context, const std::string& set, bool this_rank) {
            context.get().requests().evaluate(set, scope_of(this_rank));
          },
          py::arg("set") = "", py::kw_only(), py::arg("this_rank") = false)
      .def(
          "checkpoint",
          [](const Context& context, bool this_rank) {
            context.get().requests().checkpoint(scope_of(this_rank));
          },
          py::kw_only(), py::arg("this_rank") = false)
      .def(
          "stop",
          [](const Context& context, const std::string& reason, bool this_rank) {
            context.get().requests().stop(reason, scope_of(this_rank));
          },
          py::arg("reason"), py::kw_only(), py::arg("this_rank") = false);
}

absl::StatusOr<std::unique_ptr<PythonHook>> PythonHook::create(py::object hook,
                                                               const RankEnvironment& ranks) {
  return call_python(GilUse::kHook, "a hook", [&]() -> absl::StatusOr<std::unique_ptr<PythonHook>> {
    std::unique_ptr<PythonHook> made(new PythonHook(std::move(hook), ranks));
    // The name of the hook, and its methods that the class overrides.
    const py::tuple prepared = current_run()->support.attr("prepare_hook")(made->hook_);
    made->name_ = py::cast<std::string>(prepared[0]);
    for (const auto& [method, function] : py::cast<py::dict>(prepared[1])) {
      made->methods_[py::cast<std::string>(method)] = py::reinterpret_borrow<py::object>(function);
    }
    return made;
  });
}

PythonHook::~PythonHook() {
  const py::gil_scoped_acquire gil;
  methods_.clear();
  hook_ = py::object();
}

template <typename MakeArguments>
absl::Status PythonHook::call(const char* event, HookContext& context,
                              MakeArguments&& make_arguments) const {
  const auto method = methods_.find(event);
  if (method == methods_.end()) return absl::OkStatus();
  return call_python(GilUse::kHook, event, [&] {
    const py::object of_event = py::cast(ContextOfEvent(context));
    auto& handle = py::cast<ContextOfEvent&>(of_event);
    const struct Ender {
      ContextOfEvent& context;
      ~Ender() { context.end_event(); }
    } ender{handle};
    const py::tuple arguments = make_arguments();
    method->second(of_event, *arguments);
    return absl::OkStatus();
  });
}

absl::Status PythonHook::call(const char* event, HookContext& context) const {
  return call(event, context, [] { return py::tuple(); });
}

absl::Status PythonHook::start(HookContext& context) { return call("start", context); }

absl::Status PythonHook::before_epoch(HookContext& context) {
  return call("before_epoch", context);
}

absl::Status PythonHook::before_window(HookContext& context, const Window& window) {
  return call("before_window", context, [&] { return py::make_tuple(window_of(window)); });
}

absl::Status PythonHook::before_step(HookContext& context) { return call("before_step", context); }

absl::Status PythonHook::after_data(HookContext& context, const Batch& batch, int64_t micro_batch) {
  return call("after_data", context, [&] {
    return py::make_tuple(batch_to_python(batch, current_run()->support), micro_batch);
  });
}

absl::Status PythonHook::after_backward(HookContext& context, const Gradients& gradients) {
  return call("after_backward", context, [&] {
    py::dict dense;
    for (const NamedParameter& parameter : gradients.dense()) {
      dense[py::str(parameter.name)] = to_python(parameter.value.grad());
    }
    return py::make_tuple(dense);
  });
}

absl::Status PythonHook::after_step(HookContext& context, const StepResult& result) {
  return call("after_step", context, [&] {
    py::dict figures;
    for (const auto& [name, value] : result.figures) figures[py::str(name)] = value;
    return py::make_tuple(make("Step", result.applied, result.refused, result.examples,
                               to_python(result.loss), to_python(result.predictions),
                               to_python(result.labels), to_python(result.weights),
                               values_of(result.values), result.learning_rate, figures));
  });
}

absl::Status PythonHook::out_of_data(HookContext& context, DataEnd what) {
  return call("out_of_data", context, [&] {
    return py::make_tuple(what == DataEnd::kWindow  ? "window"
                          : what == DataEnd::kEpoch ? "epoch"
                                                    : "stream");
  });
}

absl::Status PythonHook::after_window(HookContext& context, const Window& window) {
  return call("after_window", context, [&] { return py::make_tuple(window_of(window)); });
}

absl::Status PythonHook::after_epoch(HookContext& context) { return call("after_epoch", context); }

absl::Status PythonHook::after_report(HookContext& context, const Report& report) {
  return call("after_report", context, [&] {
    std::map<std::string, int64_t> rows;
    for (const auto& [table, figures] : report.tables) rows[table] = figures.rows;
    return py::make_tuple(make("Report", report.progress.step, report.steps, report.examples,
                               report.examples_per_second, report.metrics, report.values,
                               report.learning_rates, rows));
  });
}

absl::Status PythonHook::after_evaluate(HookContext& context, const EvaluationResult& result) {
  return call("after_evaluate", context, [&] {
    return py::make_tuple(make("Evaluation", result.set, result.progress.step, result.examples,
                               result.metrics, result.values));
  });
}

absl::Status PythonHook::after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) {
  return call("after_checkpoint", context, [&] {
    return py::make_tuple(make("checkpoint_of_event", checkpoint.path, checkpoint.progress.step));
  });
}

absl::Status PythonHook::end(HookContext& context, const absl::Status& outcome) {
  return call("end", context, [&] {
    py::object error = py::none();
    if (!outcome.ok()) error = py::str(std::string(outcome.message()));
    return py::make_tuple(error);
  });
}

absl::Status PythonHook::save_state(HookState& state) const {
  if (methods_.count("state_dict") == 0) return absl::OkStatus();
  return call_python(GilUse::kHook, "state_dict()", [&] {
    const auto bytes = py::cast<std::string>(current_run()->support.attr("save_state")(hook_));
    if (!bytes.empty()) state = {kStateVersion, bytes};
    return absl::OkStatus();
  });
}

absl::Status PythonHook::load_state(absl::Span<const HookState> per_rank) {
  if (per_rank.empty()) return absl::OkStatus();
  // With another number of ranks, all begin with the state of rank 0.
  const bool has_own = static_cast<int>(per_rank.size()) == world_size_;
  const HookState& state = per_rank[has_own ? rank_ : 0];
  if (state.empty()) return absl::OkStatus();
  if (state.version != kStateVersion) {
    return absl::DataLossError(absl::StrCat("the state of the hook has version ", state.version,
                                            ", and this program reads ", kStateVersion));
  }
  return call_python(GilUse::kHook, "load_state_dict()", [&] {
    current_run()->support.attr("load_state")(hook_, py::bytes(state.bytes));
    return absl::OkStatus();
  });
}

}  // namespace millrace
