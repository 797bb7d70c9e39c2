// The program's side of a hook created by a plugin.
#ifndef MILLRACE_PLUGIN_PLUGIN_HOOK_H_
#define MILLRACE_PLUGIN_PLUGIN_HOOK_H_

#include <string>

#include "absl/strings/string_view.h"
#include "hook/hook.h"
#include "plugin/plugin_abi.h"

namespace millrace {

// Owns a hook of a plugin, gives the hook its configured name, and forwards every event. HookList
// catches exceptions of events, as for every hook; an exception of `destroy` is logged.
class PluginHook : public Hook {
 public:
  // Takes ownership of `hook`, which `destroy` destroys. REQUIRES: both are non-null; the plugin
  // stays loaded.
  PluginHook(absl::string_view name, Hook* hook,
             void (*destroy)(void* hook, MillracePluginFail fail, void* where))
      : name_(name), hook_(*hook), destroy_(destroy) {}
  ~PluginHook() override;
  PluginHook(const PluginHook&) = delete;
  PluginHook& operator=(const PluginHook&) = delete;

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
  const std::string name_;
  Hook& hook_;
  void (*const destroy_)(void* hook, MillracePluginFail fail, void* where);
};

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_HOOK_H_
