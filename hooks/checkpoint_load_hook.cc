#include "hooks/checkpoint_load_hook.h"

namespace millrace {

absl::Status CheckpointLoadHook::start(HookContext& context) { return ask_if_due(context); }

absl::Status CheckpointLoadHook::after_step(HookContext& context, const StepResult&) {
  return ask_if_due(context);
}

absl::Status CheckpointLoadHook::after_window(HookContext& context, const Window&) {
  return ask_if_due(context);
}

absl::Status CheckpointLoadHook::after_epoch(HookContext& context) { return ask_if_due(context); }

absl::Status CheckpointLoadHook::ask_if_due(HookContext& context) {
  if (context.phase() == Phase::kTrain && context.due(cadence_)) context.requests().reload();
  return absl::OkStatus();
}

}  // namespace millrace
