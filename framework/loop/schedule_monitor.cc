#include "framework/loop/schedule_monitor.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "proto/schedule_monitor_state.pb.h"

namespace millrace {
namespace {

constexpr int32_t kVersion = 1;

const ScheduleMonitorState::Entry* find_entry(const ScheduleMonitorState& state,
                                              absl::string_view optimizer) {
  for (const ScheduleMonitorState::Entry& entry : state.entry()) {
    if (entry.optimizer() == optimizer) return &entry;
  }
  return nullptr;
}

}  // namespace

std::map<std::string, Schedule*> ScheduleMonitor::find_schedules(
    const std::vector<std::unique_ptr<DenseOptimizer>>& dense, const SparseOptimizer* sparse) {
  std::map<std::string, Schedule*> schedules;
  for (size_t i = 0; i < dense.size(); ++i) schedules[dense_rate_name(i)] = dense[i]->schedule();
  if (sparse != nullptr) schedules.merge(sparse->schedules());
  for (auto it = schedules.begin(); it != schedules.end();) {
    const bool follows = it->second != nullptr && !it->second->monitor().empty();
    it = follows ? std::next(it) : schedules.erase(it);
  }
  return schedules;
}

ScheduleMonitor::ScheduleMonitor(const std::map<std::string, Schedule*>& schedules) {
  for (const auto& [optimizer, schedule] : schedules) {
    observers_.push_back(
        {optimizer, schedule, MonitoredMetric(schedule->monitor()), schedule->state()});
  }
}

absl::Status ScheduleMonitor::start(HookContext& context) {
  for (Observer& observer : observers_) observer.metric.begin_run(context.progress().step);
  return absl::OkStatus();
}

template <typename Result>
absl::Status ScheduleMonitor::observe(HookContext& context, const Result& result) {
  for (Observer& observer : observers_) {
    ASSIGN_OR_RETURN(const std::optional<double> value, observer.metric.find(result),
                     absl::StrCat("schedule of optimizer ", observer.optimizer));
    if (!value.has_value() || !observer.metric.observe(result.progress.step)) continue;
    const double before = observer.schedule->rate(context.progress());
    observer.schedule->observe(*value);
    const double after = observer.schedule->rate(context.progress());
    if (after == before || context.rank() != 0) continue;
    MILLRACE_LOG(INFO) << "learning rate of " << observer.optimizer << ": " << before << " → "
                       << after << ", because of " << observer.metric.monitor() << " = " << *value
                       << " (step " << result.progress.step << ")";
  }
  return absl::OkStatus();
}

absl::Status ScheduleMonitor::after_report(HookContext& context, const Report& report) {
  return observe(context, report);
}

absl::Status ScheduleMonitor::after_evaluate(HookContext& context, const EvaluationResult& result) {
  return context.phase() == Phase::kTrain ? observe(context, result) : absl::OkStatus();
}

absl::Status ScheduleMonitor::save_state(HookState& state) const {
  ScheduleMonitorState saved;
  for (const Observer& observer : observers_) {
    ScheduleMonitorState::Entry& entry = *saved.add_entry();
    entry.set_optimizer(observer.optimizer);
    entry.set_monitor(observer.metric.monitor());
    const std::optional<int64_t> last_step = observer.metric.last_step();
    if (last_step.has_value()) entry.set_last_step(*last_step);
    *entry.mutable_state() = observer.schedule->state();
  }
  state.version = kVersion;
  state.bytes = saved.SerializeAsString();
  return absl::OkStatus();
}

absl::Status ScheduleMonitor::load_state(absl::Span<const HookState> per_rank) {
  ScheduleMonitorState loaded;
  for (const HookState& one : per_rank) {
    const bool readable = one.version == kVersion && one.bytes == per_rank[0].bytes &&
                          loaded.ParseFromString(one.bytes);
    if (readable) continue;
    return absl::InvalidArgumentError(
        "the state of hook schedule_monitor is damaged, of another version or differs between "
        "ranks");
  }
  // If a schedule refuses its state, the schedules before it return to these states.
  std::vector<ScheduleState> former;
  for (const Observer& observer : observers_) former.push_back(observer.schedule->state());
  std::vector<std::optional<int64_t>> last_steps;
  for (size_t i = 0; i < observers_.size(); ++i) {
    const Observer& observer = observers_[i];
    const ScheduleMonitorState::Entry* entry = find_entry(loaded, observer.optimizer);
    if (entry != nullptr && entry->monitor() != observer.metric.monitor()) {
      MILLRACE_LOG(INFO) << "schedule of optimizer " << observer.optimizer
                         << ": the checkpoint has observations of " << entry->monitor()
                         << ", which are dropped; observing " << observer.metric.monitor();
      entry = nullptr;
    }
    // Observations of another metric say nothing about this one, so the schedule begins again.
    const bool known = entry != nullptr && entry->has_state();
    const absl::Status status =
        observer.schedule->load_state(known ? entry->state() : observer.initial);
    if (!status.ok()) {
      while (i-- > 0) MILLRACE_CHECK(observers_[i].schedule->load_state(former[i]).ok());
      return annotate(status, absl::StrCat("optimizer ", observer.optimizer));
    }
    last_steps.push_back(known && entry->has_last_step() ? std::optional(entry->last_step())
                                                         : std::nullopt);
  }
  // No schedule can fail any more, so the positions may change.
  for (size_t i = 0; i < observers_.size(); ++i) {
    observers_[i].metric.set_last_step(last_steps[i]);
  }
  return absl::OkStatus();
}

}  // namespace millrace
