#include "metrics/metric_direction.h"

namespace millrace {
namespace {

struct Entry {
  absl::string_view name;
  MetricDirection direction;
};

// Every metric that has a direction, and the loss.
constexpr Entry kDirections[] = {
    {"auc", MetricDirection::kHigherIsBetter},
    {"logloss", MetricDirection::kLowerIsBetter},
    {"loss", MetricDirection::kLowerIsBetter},
    {"ne", MetricDirection::kLowerIsBetter},
};

}  // namespace

MetricDirection direction_of_metric(absl::string_view name) {
  for (const Entry& entry : kDirections) {
    if (entry.name == name) return entry.direction;
  }
  return MetricDirection::kNone;
}

MetricDirection direction_of_monitor(absl::string_view monitor) {
  return direction_of_metric(monitor.substr(monitor.rfind('/') + 1));
}

bool contradicts(absl::string_view monitor, bool higher_is_better) {
  return direction_of_monitor(monitor) ==
         (higher_is_better ? MetricDirection::kLowerIsBetter : MetricDirection::kHigherIsBetter);
}

}  // namespace millrace
