#include "hooks/non_finite_guard_hook.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/failure_kind.h"

namespace millrace {
namespace {

constexpr int32_t kNonFiniteGuardVersion = 1;

constexpr char kAfterDivergence[] =
    "; look at the data, or lower the learning rate and start again with --accept_changes; if that "
    "fails too, remove the newest checkpoint, whose weights may be too large already";

absl::Status diverged(absl::string_view what) {
  return with_kind(absl::FailedPreconditionError(what), FailureKind::kDiverged);
}

}  // namespace

absl::Status NonFiniteGuardHook::after_step(HookContext& context, const StepResult& result) {
  if (context.phase() == Phase::kEvaluate) return absl::OkStatus();
  if (result.applied) {
    in_a_row_ = 0;
    return absl::OkStatus();
  }
  ++in_a_row_;
  const std::string what =
      absl::StrCat(result.refused, " was infinite or not-a-number in the step after step ",
                   context.progress().step, " (nothing of it was applied)");
  if (config_.policy() == NonFiniteConfig::FAIL) {
    return diverged(absl::StrCat(what, kAfterDivergence,
                                 "; train.non_finite.policy: SKIP, also with --accept_changes, "
                                 "leaves out single steps"));
  }
  if (in_a_row_ > config_.max_in_a_row()) {
    return diverged(absl::StrCat(what, "; ", in_a_row_,
                                 " such steps in a row, train.non_finite.max_in_a_row is ",
                                 config_.max_in_a_row(), kAfterDivergence));
  }
  return absl::OkStatus();
}

absl::Status NonFiniteGuardHook::save_state(HookState& state) const {
  state.version = kNonFiniteGuardVersion;
  state.bytes = absl::StrCat(in_a_row_);
  return absl::OkStatus();
}

absl::Status NonFiniteGuardHook::load_state(absl::Span<const HookState> per_rank) {
  int64_t in_a_row = 0;
  for (const HookState& state : per_rank) {
    if (state.version != kNonFiniteGuardVersion || !absl::SimpleAtoi(state.bytes, &in_a_row) ||
        in_a_row < 0 || state.bytes != per_rank[0].bytes) {
      return absl::InvalidArgumentError(
          "the state of hook non_finite_guard is damaged or of another version");
    }
  }
  in_a_row_ = in_a_row;
  return absl::OkStatus();
}

}  // namespace millrace
