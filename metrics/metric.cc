#include "metrics/metric.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "metrics/auc.h"
#include "metrics/calibration.h"
#include "metrics/logloss.h"
#include "metrics/metric_registry.h"
#include "metrics/ne.h"

namespace millrace {
std::vector<std::string> metric_names() { return metric_registry().names(); }

absl::StatusOr<std::unique_ptr<Metric>> create_metric(absl::string_view name,
                                                      absl::Span<const CustomConfig> configs) {
  const std::vector<std::string> names = metric_names();
  if (!std::binary_search(names.begin(), names.end(), name)) {
    return absl::NotFoundError(absl::StrCat("no metric \"", name, "\"", did_you_mean(name, names)));
  }
  for (const CustomConfig& config : configs) {
    if (config.name() == name) return metric_registry().create(name, config);
  }
  return metric_registry().create(name, CustomConfig());
}

std::vector<std::unique_ptr<Metric>> binary_metrics() {
  std::vector<std::unique_ptr<Metric>> metrics;
  metrics.push_back(std::make_unique<AucMetric>());
  metrics.push_back(std::make_unique<LogLossMetric>());
  metrics.push_back(std::make_unique<NormalizedEntropyMetric>());
  metrics.push_back(std::make_unique<CalibrationMetric>());
  return metrics;
}

}  // namespace millrace
