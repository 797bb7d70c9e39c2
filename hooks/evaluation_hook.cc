#include "hooks/evaluation_hook.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status EvaluationHook::start(HookContext& context) {
  if (!std::exchange(loaded_, false)) asked_at_ = -1;
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

absl::Status EvaluationHook::save_state(HookState& state) const {
  if (asked_at_ >= 0) state = {1, absl::StrCat(asked_at_)};
  return absl::OkStatus();
}

absl::Status EvaluationHook::load_state(absl::Span<const HookState> per_rank) {
  int64_t asked_at = -1;
  if (!per_rank.empty() && !per_rank[0].bytes.empty() &&
      (per_rank[0].version != 1 || !absl::SimpleAtoi(per_rank[0].bytes, &asked_at))) {
    return absl::DataLossError("the step of the last evaluation cannot be read");
  }
  asked_at_ = asked_at;
  loaded_ = true;
  return absl::OkStatus();
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
