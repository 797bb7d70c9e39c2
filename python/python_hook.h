// A hook written in Python.
#ifndef MILLRACE_PYTHON_PYTHON_HOOK_H_
#define MILLRACE_PYTHON_PYTHON_HOOK_H_

#include <pybind11/pybind11.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "distributed/rank_environment.h"
#include "hook/hook.h"

namespace millrace {

// Adds the class Context, the first argument of each event, to the extension.
void add_context_class(pybind11::module_& extension);

// Calls the methods of an instance of millrace.Hook that its class overrides; the GIL is acquired
// for no other event. The state of the hook is that of its state_dict(), as torch.save() writes it.
class PythonHook : public Hook {
 public:
  // Wraps an instance of a subclass of millrace.Hook. Errors: exceptions of Python, such as
  // TypeError for another object. REQUIRES: a run is in progress (current_run()).
  static absl::StatusOr<std::unique_ptr<PythonHook>> create(pybind11::object hook,
                                                            const RankEnvironment& ranks);
  ~PythonHook() override;

  absl::string_view name() const override { return name_; }
  absl::Status start(HookContext& context) override;
  absl::Status before_epoch(HookContext& context) override;
  absl::Status before_window(HookContext& context, const Window& window) override;
  absl::Status before_step(HookContext& context) override;
  absl::Status after_data(HookContext& context, const Batch& batch, int64_t micro_batch) override;
  absl::Status after_backward(HookContext& context, const Gradients& gradients) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status out_of_data(HookContext& context, DataEnd what) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;
  absl::Status after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) override;
  absl::Status end(HookContext& context, const absl::Status& outcome) override;

  absl::Status save_state(HookState& state) const override;
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  PythonHook(pybind11::object hook, const RankEnvironment& ranks)
      : hook_(std::move(hook)), rank_(ranks.rank), world_size_(ranks.world_size) {}

  // Calls the method of an event, if the class overrides it, with the context and the arguments
  // that `make_arguments` returns as a tuple.
  template <typename MakeArguments>
  absl::Status call(const char* event, HookContext& context, MakeArguments&& make_arguments) const;
  absl::Status call(const char* event, HookContext& context) const;

  pybind11::object hook_;
  const int rank_, world_size_;
  std::string name_;
  std::map<std::string, pybind11::object, std::less<>> methods_;  // overridden ones, by name
};

}  // namespace millrace

#endif  // MILLRACE_PYTHON_PYTHON_HOOK_H_
