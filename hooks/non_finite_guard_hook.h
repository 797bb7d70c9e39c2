// Handles refused steps.
#ifndef MILLRACE_HOOKS_NON_FINITE_GUARD_HOOK_H_
#define MILLRACE_HOOKS_NON_FINITE_GUARD_HOOK_H_

#include <cstdint>

#include "hook/hook.h"
#include "proto/config.pb.h"

namespace millrace {

// The train step never applies a step with an infinite or not-a-number loss or gradient. The hook
// ends the run at the first such step (policy FAIL), or after more than max_in_a_row consecutive
// ones (SKIP), with the step and the non-finite value. Its state is the number of consecutive
// refused steps.
class NonFiniteGuardHook : public Hook {
 public:
  explicit NonFiniteGuardHook(NonFiniteConfig config) : config_(std::move(config)) {}
  absl::string_view name() const override { return "non_finite_guard"; }
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status save_state(HookState& state) const override;
  // Errors: InvalidArgument if the states are of another version or differ between ranks.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  const NonFiniteConfig config_;
  int64_t in_a_row_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_NON_FINITE_GUARD_HOOK_H_
