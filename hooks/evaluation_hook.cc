#include "hooks/evaluation_hook.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace millrace {

absl::Status EvaluationHook::start(HookContext& context) {
  if (!std::exchange(loaded_, false)) asked_at_ = -1;
  if (context.phase() == Phase::kTrain && cadence().at_end) context.requests().evaluate_at_end();
  return CadenceHook::start(context);
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

void EvaluationHook::when_due(HookContext& context) {
  const int64_t step = context.progress().step;
  if (step == asked_at_) return;
  context.requests().evaluate();
  asked_at_ = step;
}

}  // namespace millrace
