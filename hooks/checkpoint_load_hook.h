// Asks for dynamic sources of the model bank to be loaded again.
#ifndef MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_
#define MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_

#include "framework/hook.h"

namespace millrace {

// Whenever its cadence is due in training. Sources that have not changed cost a look, so asking too
// often does no harm.
class CheckpointLoadHook : public Hook {
 public:
  static constexpr Cadence kDefaultCadence = {.every_epochs = 1, .every_windows = 1};

  explicit CheckpointLoadHook(Cadence cadence = kDefaultCadence) : cadence_(cadence) {}
  absl::string_view name() const override { return "checkpoint_load"; }
  absl::Status start(HookContext& context) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;

 private:
  absl::Status ask_if_due(HookContext& context);

  const Cadence cadence_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_
