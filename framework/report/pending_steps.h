// Steps whose figures are read when they are wanted.
#ifndef MILLRACE_FRAMEWORK_REPORT_PENDING_STEPS_H_
#define MILLRACE_FRAMEWORK_REPORT_PENDING_STEPS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "framework/events.h"
#include "framework/report/metric_set.h"
#include "framework/report/reported_values.h"

namespace millrace {

// Keeps the tensors of steps and reads them together, so that a step without a report waits for no
// device. The values are equal, to the last bit, to those of steps that are read one by one.
class PendingSteps {
 public:
  // The number of steps that are kept at most. add() reads them at the latest then, which bounds
  // memory.
  static constexpr size_t kMost = 64;

  // Keeps a step for `metrics`, and the values that the model reported in it for `values`. A rank
  // without examples in the step adds no values. Errors: those of MetricSet::check; the step is
  // left out.
  absl::Status add(const StepResult& step, MetricSet& metrics, ReportedValues& values);

  // Reads what is kept into the two.
  absl::Status fold(MetricSet& metrics, ReportedValues& values);

  size_t size() const { return steps_.size(); }

 private:
  std::vector<StepResult> steps_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_PENDING_STEPS_H_
