#include "metrics/metric_direction.h"

namespace millrace {
MetricDirection direction_of_metric(absl::string_view name) {
  return name == "loss" ? MetricDirection::kLowerIsBetter : traits_of_metric(name).direction;
}

MetricDirection direction_of_monitor(absl::string_view monitor) {
  return direction_of_metric(monitor.substr(monitor.rfind('/') + 1));
}

bool contradicts(absl::string_view monitor, bool higher_is_better) {
  return direction_of_monitor(monitor) ==
         (higher_is_better ? MetricDirection::kLowerIsBetter : MetricDirection::kHigherIsBetter);
}

}  // namespace millrace
