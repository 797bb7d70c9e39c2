#include "hooks/evaluation_hook.h"

namespace millrace {

absl::Status EvaluationHook::start(HookContext& context) {
  asked_at_ = -1;
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
  const int64_t step = context.progress().step;
  if (context.phase() == Phase::kEvaluate || step == asked_at_ || !context.due(cadence_)) {
    return absl::OkStatus();
  }
  context.requests().evaluate();
  asked_at_ = step;
  return absl::OkStatus();
}

}  // namespace millrace
