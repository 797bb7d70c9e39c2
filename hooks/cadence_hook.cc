#include "hooks/cadence_hook.h"

namespace millrace {

absl::Status CadenceHook::start(HookContext& context) { return look(context); }

absl::Status CadenceHook::after_step(HookContext& context, const StepResult&) {
  return look(context);
}

absl::Status CadenceHook::after_window(HookContext& context, const Window&) {
  return look(context);
}

absl::Status CadenceHook::after_epoch(HookContext& context) { return look(context); }

absl::Status CadenceHook::look(HookContext& context) {
  if (context.phase() == Phase::kTrain && context.due(cadence_)) when_due(context);
  return absl::OkStatus();
}

}  // namespace millrace
