// Requests evaluations at a cadence.
#ifndef MILLRACE_HOOKS_EVALUATION_HOOK_H_
#define MILLRACE_HOOKS_EVALUATION_HOOK_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hooks/cadence_hook.h"

namespace millrace {

// The cadence of an evaluation set.
struct SetCadence {
  std::string set;  // "": all sets
  Cadence when;
};

// Requests the evaluation of each set when the set's cadence triggers. A set is requested once per
// step, even if the step, its epoch and the end of training coincide, and when a run resumes.
// `at_start` triggers when training begins, not when it resumes.
class EvaluationHook : public CadenceHook {
 public:
  // Evaluates all sets at one cadence.
  explicit EvaluationHook(Cadence cadence)
      : EvaluationHook(std::vector<SetCadence>{{"", cadence}}) {}
  // Evaluates each set at its own cadence. REQUIRES: no set is named twice; "" is alone.
  explicit EvaluationHook(std::vector<SetCadence> sets)
      : CadenceHook(Cadence()), sets_(std::move(sets)) {}

  absl::string_view name() const override { return "evaluation"; }
  absl::Status start(HookContext& context) override;
  absl::Status save_state(HookState& state) const override;
  // Errors: DataLoss for a damaged state.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 protected:
  void look(HookContext& context) override;

 private:
  const std::vector<SetCadence> sets_;
  // Maps a set to the step after which its evaluation was last requested, in this run or the run
  // before the resume. "" denotes sets without an entry.
  std::map<std::string, int64_t> asked_at_;
  bool loaded_ = false;  // since the last run
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EVALUATION_HOOK_H_
