// Asks for checkpoints at a cadence.
#ifndef MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_
#define MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_

#include "framework/hook.h"

namespace millrace {

// After steps, windows and epochs. What falls on one point is saved once. The checkpoint at the end
// of a run is the trainer's own (TrainerOptions::save_at_end), so the cadence's at_end asks for
// nothing here.
class CheckpointSaveHook : public Hook {
 public:
  explicit CheckpointSaveHook(Cadence cadence) : cadence_(cadence) {}
  absl::string_view name() const override { return "checkpoint_save"; }
  absl::Status start(HookContext& context) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;

 private:
  absl::Status ask_if_due(HookContext& context);

  const Cadence cadence_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CHECKPOINT_SAVE_HOOK_H_
