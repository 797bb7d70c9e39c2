// Hooks that request evaluations, checkpoints and reloads at a cadence of training.
#ifndef MILLRACE_HOOKS_CADENCE_HOOKS_H_
#define MILLRACE_HOOKS_CADENCE_HOOKS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "hook/hook.h"

namespace millrace {

// Base of hooks that act at a cadence of training. Calls when_due in start and after steps, windows
// and epochs of training, each time the cadence triggers.
class CadenceHook : public Hook {
 public:
  explicit CadenceHook(Cadence cadence) : cadence_(cadence) {}
  absl::Status start(HookContext& context) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;

 protected:
  // Called in start and after each step, window and epoch of training. Default: calls when_due if
  // the cadence triggers. Overridden by hooks with several cadences.
  virtual void look(HookContext& context);
  // Called when the cadence triggers. Default: does nothing.
  virtual void when_due(HookContext& context) {}

 private:
  absl::Status look_in_training(HookContext& context);

  const Cadence cadence_;
};

// Requests a reload each time the cadence triggers in training. A source without changes costs only
// a check, so frequent requests are harmless.
class CheckpointLoadHook : public CadenceHook {
 public:
  static constexpr Cadence kDefaultCadence = {.every_epochs = 1, .every_windows = 1};

  explicit CheckpointLoadHook(Cadence cadence = kDefaultCadence) : CadenceHook(cadence) {}
  absl::string_view name() const override { return "checkpoint_load"; }

 protected:
  void when_due(HookContext& context) override { context.requests().reload(); }
};

// Requests checkpoints after steps, windows and epochs. Coinciding triggers save once. The trainer
// itself saves at the end of a run (TrainerOptions::save_at_end), so at_end of the cadence requests
// nothing.
class CheckpointSaveHook : public CadenceHook {
 public:
  explicit CheckpointSaveHook(Cadence cadence) : CadenceHook(cadence) {}
  absl::string_view name() const override { return "checkpoint_save"; }

 protected:
  void when_due(HookContext& context) override { context.requests().checkpoint(); }
};

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

#endif  // MILLRACE_HOOKS_CADENCE_HOOKS_H_
