// A metric that a hook or a schedule follows.
#ifndef MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_
#define MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_

#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "framework/events.h"

namespace millrace {

// Finds the metric "SET/METRIC" in evaluations of that set, or "train/METRIC" in reports of
// training.
//
//   const MonitoredMetric monitored("eval/auc");
//   ASSIGN_OR_RETURN(const std::optional<double> value, monitored.find(result));
class MonitoredMetric {
 public:
  // REQUIRES: `monitor` contains a "/".
  explicit MonitoredMetric(absl::string_view monitor);

  // Returns "SET/METRIC".
  const std::string& monitor() const { return monitor_; }
  // Returns true if reports of training give the metric.
  bool is_of_training() const { return source_ == kTrain; }

  // Returns the value; none if the metric is that of another set, or of none.
  // Errors: NotFound, naming the nearest metric, if the report or the evaluation of the set does
  // not have the metric.
  absl::StatusOr<std::optional<double>> find(const Report& report) const;
  absl::StatusOr<std::optional<double>> find(const EvaluationResult& result) const;

 private:
  static constexpr absl::string_view kTrain = "train";

  absl::StatusOr<std::optional<double>> find(const std::map<std::string, double>& metrics) const;

  std::string monitor_;
  std::string source_;  // name of the evaluation set, or kTrain
  std::string metric_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_
