// A metric that a hook or a schedule follows.
#ifndef MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_
#define MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "framework/events.h"

namespace millrace {

// Finds the metric "SET/METRIC" in evaluations of that set, or "train/METRIC" in reports of
// training, and determines which of its values are new observations: the first of each step.
//
//   MonitoredMetric monitored("eval/auc");
//   ASSIGN_OR_RETURN(const std::optional<double> value, monitored.find(result));
//   if (value.has_value() && monitored.observe(result.progress.step)) ...
//
// Not safe for concurrent use.
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

  // Called before the first value of a run that begins at `step`. Forgets a last step that lies
  // after it: such a step is of another job, whose state a model bank gave.
  void begin_run(int64_t step);
  // Records a value of `step`. Returns false if the last value was of the same step: the model is
  // then the same, and the value no new observation.
  bool observe(int64_t step);
  // The step of the last value, which belongs to the state of the caller; none: no value so far.
  std::optional<int64_t> last_step() const { return last_step_; }
  void set_last_step(std::optional<int64_t> step) { last_step_ = step; }

 private:
  static constexpr absl::string_view kTrain = "train";

  absl::StatusOr<std::optional<double>> find(const std::map<std::string, double>& metrics) const;

  std::string monitor_;
  std::string source_;  // name of the evaluation set, or kTrain
  std::string metric_;
  std::optional<int64_t> last_step_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_
