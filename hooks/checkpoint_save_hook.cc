#include "hooks/checkpoint_save_hook.h"

namespace millrace {

absl::Status CheckpointSaveHook::start(HookContext& context) { return ask_if_due(context); }

absl::Status CheckpointSaveHook::after_step(HookContext& context, const StepResult&) {
  return ask_if_due(context);
}

absl::Status CheckpointSaveHook::after_window(HookContext& context, const Window&) {
  return ask_if_due(context);
}

absl::Status CheckpointSaveHook::after_epoch(HookContext& context) { return ask_if_due(context); }

absl::Status CheckpointSaveHook::ask_if_due(HookContext& context) {
  if (context.phase() == Phase::kTrain && context.due(cadence_)) context.requests().checkpoint();
  return absl::OkStatus();
}

}  // namespace millrace
