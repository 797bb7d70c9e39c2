#include "hooks/cadence_hook.h"

namespace millrace {

absl::Status CadenceHook::start(HookContext& context) { return look_in_training(context); }

absl::Status CadenceHook::after_step(HookContext& context, const StepResult&) {
  return look_in_training(context);
}

absl::Status CadenceHook::after_window(HookContext& context, const Window&) {
  return look_in_training(context);
}

absl::Status CadenceHook::after_epoch(HookContext& context) { return look_in_training(context); }

absl::Status CadenceHook::look_in_training(HookContext& context) {
  if (context.phase() == Phase::kTrain) look(context);
  return absl::OkStatus();
}

void CadenceHook::look(HookContext& context) {
  if (context.due(cadence_)) when_due(context);
}

}  // namespace millrace
