// Feeds schedules that follow a metric.
#ifndef MILLRACE_FRAMEWORK_LOOP_SCHEDULE_MONITOR_H_
#define MILLRACE_FRAMEWORK_LOOP_SCHEDULE_MONITOR_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "checkpoint/state/state_loader.h"
#include "framework/report/monitored_metric.h"
#include "hook/hook.h"
#include "optim/dense/dense_optimizer.h"
#include "optim/schedule/schedule.h"
#include "optim/sparse_optimizer.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Calls Schedule::observe() with the value of the metric that Schedule::monitor() names: one value
// at each evaluation of the set, or at each report of training. The trainer attaches this hook
// before all others if an optimizer has such a schedule.
//
// The metric is merged over ranks, so all ranks observe the same values. A second evaluation at the
// same step repeats a value and is not counted. The hook's state consists of the states of the
// schedules. A schedule whose optimizer or metric is missing in the checkpoint starts without
// observations.
class ScheduleMonitor : public Hook {
 public:
  // Equals kScheduleMonitor of checkpoint/state/state_loader.h.
  static constexpr absl::string_view kName = "schedule_monitor";

  // Returns the schedules of these optimizers with a monitor, by the names of their rates in
  // reports. `sparse` may be null. Borrowed from the optimizers.
  static std::map<std::string, Schedule*> find_schedules(
      const std::vector<std::unique_ptr<DenseOptimizer>>& dense, const SparseOptimizer* sparse);

  // Borrows the schedules, which outlive the hook. REQUIRES: each schedule has a monitor.
  explicit ScheduleMonitor(const std::map<std::string, Schedule*>& schedules);

  absl::string_view name() const override { return kName; }
  // Clears the steps of values of another job, if the state came from a model bank.
  absl::Status start(HookContext& context) override;
  // Both call observe() of the schedules with new values. Errors: NotFound if the report, or the
  // evaluation of the set, does not have the metric.
  absl::Status after_report(HookContext& context, const Report& report) override;
  absl::Status after_evaluate(HookContext& context, const EvaluationResult& result) override;

  absl::Status save_state(HookState& state) const override;
  // Loads the states of the schedules. Errors: InvalidArgument if the states are damaged, of
  // another version or differ between ranks.
  absl::Status load_state(absl::Span<const HookState> per_rank) override;

 private:
  struct Observer {
    std::string optimizer;  // name of its rate in reports
    Schedule* schedule = nullptr;
    MonitoredMetric metric;
    ScheduleState initial;  // before the first value
  };

  template <typename Result>
  absl::Status observe(HookContext& context, const Result& result);

  std::vector<Observer> observers_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_LOOP_SCHEDULE_MONITOR_H_
