#include "metrics/metric_predictions.h"

namespace millrace {

bool needs_probabilities(absl::string_view name) {
  return name == "logloss" || name == "ne" || name == "calibration";
}

}  // namespace millrace
