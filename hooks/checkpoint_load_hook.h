// Requests reloads of dynamic sources of the model bank.
#ifndef MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_
#define MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_

#include "hooks/cadence_hook.h"

namespace millrace {

// Requests a reload each time the cadence triggers in training. A source without changes costs only
// a check, so frequent requests are harmless.
class CheckpointLoadHook : public CadenceHook {
 public:
  static constexpr Cadence kDefaultCadence = {.every_epochs = 1, .every_windows = 1};

  explicit CheckpointLoadHook(Cadence cadence = kDefaultCadence) : CadenceHook(cadence) {}
  absl::string_view name() const override { return "checkpoint_load"; }

 protected:
  void when_due(HookContext& context) override { context.requests().reload(); }
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_
