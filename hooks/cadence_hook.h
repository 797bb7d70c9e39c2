// What hooks have in common that do something at a cadence of training.
#ifndef MILLRACE_HOOKS_CADENCE_HOOK_H_
#define MILLRACE_HOOKS_CADENCE_HOOK_H_

#include "framework/hook.h"

namespace millrace {

// Calls when_due in start and after steps, windows and epochs of training, whenever the cadence is
// due there.
class CadenceHook : public Hook {
 public:
  explicit CadenceHook(Cadence cadence) : cadence_(cadence) {}
  absl::Status start(HookContext& context) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;

 protected:
  virtual void when_due(HookContext& context) = 0;
  const Cadence& cadence() const { return cadence_; }

 private:
  absl::Status look(HookContext& context);

  const Cadence cadence_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CADENCE_HOOK_H_
