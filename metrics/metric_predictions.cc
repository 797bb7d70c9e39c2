#include "metrics/metric_predictions.h"

#include "metrics/metric_registry.h"

namespace millrace {

bool needs_probabilities(absl::string_view name) {
  return traits_of_metric(name).needs_probabilities;
}

}  // namespace millrace
