// Ends training when a metric no longer improves.
#ifndef MILLRACE_HOOKS_EARLY_STOPPING_HOOK_H_
#define MILLRACE_HOOKS_EARLY_STOPPING_HOOK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "framework/report/monitored_metric.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "proto/early_stopping_state.pb.h"
#include "proto/hook_configs.pb.h"

namespace millrace {

// Observes one value of the monitored metric at each evaluation of its set, or at each report of
// training. Requests a stop when the value has not improved `patience` times in a row. The first
// value after the warm-up is always an improvement, if it is finite.
//
// The metric is merged over ranks, so all ranks decide alike, and the request is common. A second
// evaluation at the same step repeats a value and is not counted. The observations are the state of
// the hook. A checkpoint with observations of another metric or direction is accepted, and the hook
// then starts without observations.
class EarlyStoppingHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "early_stopping";

  // REQUIRES: check_early_stopping() accepts `config`.
  explicit EarlyStoppingHook(const EarlyStoppingConfig& config);

  // Errors: InvalidArgument of check_early_stopping().
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  // Discards the step of values of another job if a model bank supplied the state alone.
  absl::Status start(HookContext& context) override;
  // Errors: NotFound if the report, or the evaluation of the set, lacks the metric.
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;

  absl::Status save_state(HookState& state) const override;
  // Errors: InvalidArgument if the states are damaged, of another version or differ between ranks.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  // Records `value`, if any, and requests a stop if there is a reason.
  absl::Status observe(HookContext& context, const absl::StatusOr<std::optional<double>>& value,
                       int64_t step);
  // Updates the state. Returns: the reason to stop; empty: none.
  std::string record_value(double value, int64_t step);
  bool improves(double value) const;
  std::string reason_without_improvement() const;
  EarlyStoppingState without_observations() const;

  const EarlyStoppingConfig config_;
  const bool higher_is_better_;
  MonitoredMetric monitored_;
  EarlyStoppingState state_;  // except last_step, which `monitored_` holds
};

// Returns true if higher values are better, by `mode` or by the name of the metric. None: `mode` is
// BY_METRIC and the metric has no direction.
std::optional<bool> higher_is_better(const EarlyStoppingConfig& config);

// Checks the monitor and the mode of `config`, located at `where`. Does not check that a job
// reports the metric. Errors: InvalidArgument with a line per wrong field.
absl::Status check_stopping_monitor(absl::string_view where, const EarlyStoppingConfig& config);

// As check_stopping_monitor(), and checks the numbers.
absl::Status check_early_stopping(absl::string_view where, const EarlyStoppingConfig& config);

}  // namespace millrace

#endif  // MILLRACE_HOOKS_EARLY_STOPPING_HOOK_H_
