// The direction of metrics: higher or lower values are better.
#ifndef MILLRACE_METRICS_METRIC_DIRECTION_H_
#define MILLRACE_METRICS_METRIC_DIRECTION_H_

#include "absl/strings/string_view.h"
#include "metrics/metric_registry.h"

namespace millrace {

// Returns the direction of the metric that create_metric() knows as `name`, or of "loss". kNone:
// the metric has no direction (calibration is best at 1), or there is no metric of that name.
MetricDirection direction_of_metric(absl::string_view name);

// Returns the direction of the metric of a monitor: "SET/METRIC" or "SET/LABEL/METRIC".
MetricDirection direction_of_monitor(absl::string_view monitor);

// Returns true if the metric of a monitor has the opposite direction.
bool contradicts(absl::string_view monitor, bool higher_is_better);

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_DIRECTION_H_
