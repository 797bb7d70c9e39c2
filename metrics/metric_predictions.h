// What metrics take as predictions.
#ifndef MILLRACE_METRICS_METRIC_PREDICTIONS_H_
#define MILLRACE_METRICS_METRIC_PREDICTIONS_H_

#include "absl/strings/string_view.h"

namespace millrace {

// Returns true if the metric that create_metric() knows as `name` has a meaning for predictions
// that are probabilities alone, such as logloss, ne and calibration.
bool needs_probabilities(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_PREDICTIONS_H_
