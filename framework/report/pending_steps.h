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

// Keeps the tensors of steps and reads them together, so that a step on which nothing is due waits
// for no device. What comes out is the same, to the last bit, as with each step read at once.
class PendingSteps {
 public:
  // So many are kept at most; then they are read, due or not, so that memory is bounded.
  static constexpr size_t kMost = 64;

  // Takes a step for `metrics`, and what the model reported with it (as means over steps) for
  // `values`; not from a rank that had no examples in it. Errors: those of MetricSet::check; the
  // step then counts nothing.
  absl::Status add(const StepResult& step, MetricSet& metrics, ReportedValues& values);

  // Reads what is kept into the two.
  absl::Status fold(MetricSet& metrics, ReportedValues& values);

  size_t size() const { return steps_.size(); }

 private:
  std::vector<StepResult> steps_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_PENDING_STEPS_H_
