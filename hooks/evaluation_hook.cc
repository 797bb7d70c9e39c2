#include "hooks/evaluation_hook.h"

namespace millrace {

absl::Status EvaluationHook::start(HookContext& context) {
  if (context.phase() == Phase::kTrain && cadence_.at_end) context.requests().evaluate_at_end();
  return ask_if_due(context);
}

absl::Status EvaluationHook::after_step(HookContext& context, const StepResult&) {
  return ask_if_due(context);
}

absl::Status EvaluationHook::after_epoch(HookContext& context) { return ask_if_due(context); }

absl::Status EvaluationHook::after_window(HookContext& context, const Window&) {
  return ask_if_due(context);
}

absl::Status EvaluationHook::ask_if_due(HookContext& context) {
  if (context.phase() == Phase::kTrain && context.due(cadence_)) context.requests().evaluate();
  return absl::OkStatus();
}

}  // namespace millrace
