// Evicts rows of embedding tables.
#ifndef MILLRACE_HOOKS_EVICT_ROWS_HOOK_H_
#define MILLRACE_HOOKS_EVICT_ROWS_HOOK_H_

#include <map>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "embedding/policies/step_marks.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"

namespace millrace {

class EmbeddingCollection;

// Removes rows by the rules of each table (TableConfig.eviction), between steps, each time the
// cadence triggers. Rows record steps. To convert seconds of training (Progress.elapsed, which
// includes waits for data but not evaluations) and windows to steps, the hook keeps marks, which
// are its state. `at_start` triggers when training begins, not when it resumes. A failed run evicts
// nothing after the failure. Reports show the evicted rows by table and reason; a log line shows
// them at once.
class EvictRowsHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "evict_rows";

  // Borrows the collections.
  EvictRowsHook(Cadence when, std::vector<EmbeddingCollection*> collections);

  // Creates the hook from EvictRowsConfig. Default: every 1000 steps and every window.
  // Errors: InvalidArgument if no table has rules, or for a cadence without triggers.
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  // Errors: InvalidArgument for idle_windows without windows.
  absl::Status start(HookContext& context) override;
  absl::Status after_step(HookContext& context, const StepResult& result) override;
  absl::Status after_window(HookContext& context, const Window& window) override;
  absl::Status after_epoch(HookContext& context) override;

  absl::Status save_state(HookState& state) const override;
  // Drops marks that no table needs. Errors: InvalidArgument if the states are damaged, of another
  // version or differ between ranks.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  using Marks = std::map<double, StepMarks>;  // by horizon

  void make_marks();
  void begin_marks(const Progress& progress);
  void mark(const Progress& progress);
  absl::Status evict_if_due(HookContext& context);
  absl::Status evict(const Progress& progress);

  const Cadence when_;
  const std::vector<EmbeddingCollection*> collections_;
  Marks seconds_;
  Marks windows_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EVICT_ROWS_HOOK_H_
