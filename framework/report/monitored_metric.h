// A metric that a hook or a schedule follows.
#ifndef MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_
#define MILLRACE_FRAMEWORK_REPORT_MONITORED_METRIC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hook/events.h"

namespace millrace {

// Finds the metric "SET/METRIC" in evaluations of the set, or "train/METRIC" in reports of
// training. The first value of each step is a new observation.
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
  // Returns true if reports of training contain the metric.
  bool is_of_training() const { return source_ == kTrain; }

  // Returns the value; none if the monitor does not name this report or the set of this evaluation.
  // Errors: NotFound, naming the nearest metric, if the report or the evaluation of the set does
  // not have the metric.
  absl::StatusOr<std::optional<double>> find(const Report& report) const;
  absl::StatusOr<std::optional<double>> find(const EvaluationResult& result) const;

  // Called before the first value of a run that begins at `step`. Clears a last step after `step`,
  // which belongs to another job whose state came from a model bank.
  void begin_run(int64_t step);
  // Records a value of `step`. Returns false if the last value was of the same step: the model is
  // then unchanged, so the value is no new observation.
  bool observe(int64_t step);
  // Returns the step of the last value; none: no value so far. Belongs to the caller's state.
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
