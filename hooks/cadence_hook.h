// Base of hooks that act at a cadence of training.
#ifndef MILLRACE_HOOKS_CADENCE_HOOK_H_
#define MILLRACE_HOOKS_CADENCE_HOOK_H_

#include "hook/hook.h"

namespace millrace {

// Calls when_due in start and after steps, windows and epochs of training, each time the cadence is
// due.
class CadenceHook : public Hook {
 public:
  explicit CadenceHook(Cadence cadence) : cadence_(cadence) {}
  absl::Status start(HookContext& context) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;

 protected:
  // Called in start and after each step, window and epoch of training. Default: calls when_due if
  // the cadence triggers. Overridden by hooks with several cadences.
  virtual void look(HookContext& context);
  // Called when the cadence triggers. Default: does nothing.
  virtual void when_due(HookContext& context) {}

 private:
  absl::Status look_in_training(HookContext& context);

  const Cadence cadence_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CADENCE_HOOK_H_
