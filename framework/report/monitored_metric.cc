#include "framework/report/monitored_metric.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "base/text.h"
#include "proto/monitor_name.h"

namespace millrace {

MonitoredMetric::MonitoredMetric(absl::string_view monitor)
    : monitor_(monitor),
      source_(set_of_monitor(monitor)),
      metric_(monitor.substr(std::min(monitor.size(), source_.size() + 1))) {
  MILLRACE_CHECK(source_.size() < monitor.size()) << monitor;
}

absl::StatusOr<std::optional<double>> MonitoredMetric::find(const Report& report) const {
  if (!is_of_training()) return std::nullopt;
  return find(report.metrics);
}

absl::StatusOr<std::optional<double>> MonitoredMetric::find(const EvaluationResult& result) const {
  if (is_of_training() || source_ != result.set) return std::nullopt;
  return find(result.metrics);
}

void MonitoredMetric::begin_run(int64_t step) {
  if (last_step_ > step) last_step_.reset();
}

bool MonitoredMetric::observe(int64_t step) {
  const bool is_new = last_step_ != step;
  last_step_ = step;
  return is_new;
}

absl::StatusOr<std::optional<double>> MonitoredMetric::find(
    const std::map<std::string, double>& metrics) const {
  const auto found = metrics.find(metric_);
  if (found != metrics.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, value] : metrics) names.push_back(name);
  return absl::NotFoundError(absl::StrCat("monitor ", monitor_, ": ", source_, " has no metric \"",
                                          metric_, "\"", did_you_mean(metric_, names)));
}

}  // namespace millrace
