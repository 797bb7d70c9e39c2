// Asks for evaluations at a cadence.
#ifndef MILLRACE_HOOKS_EVALUATION_HOOK_H_
#define MILLRACE_HOOKS_EVALUATION_HOOK_H_

#include "hooks/cadence_hook.h"

namespace millrace {

// Evaluates all sets when the cadence says so; what falls on one step is done once, also where
// a step, its epoch and the end of training coincide.
class EvaluationHook : public CadenceHook {
 public:
  explicit EvaluationHook(Cadence cadence) : CadenceHook(cadence) {}
  absl::string_view name() const override { return "evaluation"; }
  absl::Status start(HookContext& context) override;
  absl::Status save_state(HookState& state) const override;
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 protected:
  void when_due(HookContext& context) override;

 private:
  int64_t asked_at_ = -1;  // the step after which it last asked, in this run or the one it goes on
  bool loaded_ = false;    // since the last run
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EVALUATION_HOOK_H_
