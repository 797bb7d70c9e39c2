#include "plugin/plugin_hook.h"

#include "base/catch_exceptions.h"
#include "base/log.h"

namespace millrace {
namespace {

// A MillracePluginFail; `where` is the name of the hook.
void log_failure(void* where, int32_t, const char* text, uint64_t size) {
  MILLRACE_LOG(WARNING) << "hook " << *static_cast<const std::string*>(where) << ": "
                        << absl::string_view(text, size);
}

}  // namespace

PluginHook::~PluginHook() {
  std::string name = name_;
  const absl::Status status = catch_exceptions("destroying it", [&]() -> absl::Status {
    destroy_(&hook_, &log_failure, &name);
    return absl::OkStatus();
  });
  if (!status.ok()) MILLRACE_LOG(WARNING) << "hook " << name << ": " << status.message();
}

absl::Status PluginHook::start(HookContext& context) { return hook_.start(context); }

absl::Status PluginHook::before_epoch(HookContext& context) { return hook_.before_epoch(context); }

absl::Status PluginHook::before_window(HookContext& context, const Window& window) {
  return hook_.before_window(context, window);
}

absl::Status PluginHook::before_step(HookContext& context) { return hook_.before_step(context); }

absl::Status PluginHook::after_data(HookContext& context, const Batch& batch, int64_t micro_batch) {
  return hook_.after_data(context, batch, micro_batch);
}

absl::Status PluginHook::after_backward(HookContext& context, const Gradients& gradients) {
  return hook_.after_backward(context, gradients);
}

absl::Status PluginHook::after_step(HookContext& context, const StepResult& result) {
  return hook_.after_step(context, result);
}

absl::Status PluginHook::out_of_data(HookContext& context, DataEnd what) {
  return hook_.out_of_data(context, what);
}

absl::Status PluginHook::after_window(HookContext& context, const Window& window) {
  return hook_.after_window(context, window);
}

absl::Status PluginHook::after_epoch(HookContext& context) { return hook_.after_epoch(context); }

absl::Status PluginHook::after_report(HookContext& context, const Report& report) {
  return hook_.after_report(context, report);
}

absl::Status PluginHook::after_evaluate(HookContext& context, const EvaluationResult& result) {
  return hook_.after_evaluate(context, result);
}

absl::Status PluginHook::after_checkpoint(HookContext& context, const CheckpointInfo& checkpoint) {
  return hook_.after_checkpoint(context, checkpoint);
}

absl::Status PluginHook::end(HookContext& context, const absl::Status& outcome) {
  return hook_.end(context, outcome);
}

absl::Status PluginHook::save_state(HookState& state) const { return hook_.save_state(state); }

absl::Status PluginHook::load_state(absl::Span<const HookState> per_rank) {
  return hook_.load_state(per_rank);
}

}  // namespace millrace
