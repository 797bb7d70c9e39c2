// Steps whose tensors are read later.
#ifndef MILLRACE_FRAMEWORK_REPORT_PENDING_STEPS_H_
#define MILLRACE_FRAMEWORK_REPORT_PENDING_STEPS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "framework/report/metric_set.h"
#include "framework/report/reported_values.h"
#include "hook/events.h"

namespace millrace {

// Keeps the tensors of steps and reads them together, so that a step without a report does not wait
// for the device. The values equal, to the last bit, the values of steps that are read
// individually.
class PendingSteps {
 public:
  // Maximum number of steps kept, which bounds memory: at this number, add() reads the tensors.
  static constexpr size_t kMost = 64;

  // Keeps a step for `metrics`, and the values that the model reported in the step for `values`. A
  // rank without examples in the step adds no values. Errors: as MetricSet::check(); the step is
  // omitted then.
  absl::Status add(const StepResult& step, MetricSet& metrics, ReportedValues& values);

  // Reads all kept steps into `metrics` and `values`.
  absl::Status fold(MetricSet& metrics, ReportedValues& values);

  size_t size() const { return steps_.size(); }

 private:
  std::vector<StepResult> steps_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_PENDING_STEPS_H_
