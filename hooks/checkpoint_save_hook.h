// Requests checkpoints at a cadence.
#ifndef MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_
#define MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_

#include "hooks/cadence_hook.h"

namespace millrace {

// Requests checkpoints after steps, windows and epochs. Coinciding triggers save once. The trainer
// itself saves at the end of a run (TrainerOptions::save_at_end), so at_end of the cadence requests
// nothing.
class CheckpointSaveHook : public CadenceHook {
 public:
  explicit CheckpointSaveHook(Cadence cadence) : CadenceHook(cadence) {}
  absl::string_view name() const override { return "checkpoint_save"; }

 protected:
  void when_due(HookContext& context) override { context.requests().checkpoint(); }
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_
