// Asks for checkpoints at a cadence.
#ifndef MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_
#define MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_

#include "hooks/cadence_hook.h"

namespace millrace {

// After steps, windows and epochs. What falls on one point is saved once. The checkpoint at the end
// of a run is the trainer's own (TrainerOptions::save_at_end), so the cadence's at_end asks for
// nothing here.
class CheckpointSaveHook : public CadenceHook {
 public:
  explicit CheckpointSaveHook(Cadence cadence) : CadenceHook(cadence) {}
  absl::string_view name() const override { return "checkpoint_save"; }

 protected:
  void when_due(HookContext& context) override { context.requests().checkpoint(); }
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_
