#include "framework/report/pending_steps.h"

#include <ATen/core/Tensor.h>

#include <utility>

#include "base/status_macros.h"

namespace millrace {

absl::Status PendingSteps::add(const StepResult& step, MetricSet& metrics, ReportedValues& values) {
  RETURN_IF_ERROR(metrics.check(step));
  if (steps_.capacity() == 0) steps_.reserve(kMost);
  steps_.push_back(step);
  return steps_.size() < kMost ? absl::OkStatus() : fold(metrics, values);
}

absl::Status PendingSteps::fold(MetricSet& metrics, ReportedValues& values) {
  for (const StepResult& step : std::exchange(steps_, {})) {
    RETURN_IF_ERROR(metrics.update(step));
    for (const auto& [name, value] : step.figures) values.add(name, value, Reduction::kMean);
    if (!step.predictions.defined() || step.predictions.size(0) == 0) continue;
    for (const StepValue& reported : step.values) {
      values.add(reported.name, reported.value.item<double>(), reported.reduction,
                 reported.weight.defined() ? reported.weight.item<double>() : 1);
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
