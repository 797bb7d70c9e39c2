// Asks for dynamic sources of the model bank to be loaded again.
#ifndef MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_
#define MILLRACE_HOOKS_CHECKPOINT_LOAD_HOOK_H_

#include "hooks/cadence_hook.h"

namespace millrace {

// Whenever its cadence is due in training. Sources that have not changed cost a look, so asking too
// often does no harm.
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
