#include "metrics/metric.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/text.h"
#include "metrics/auc.h"
#include "metrics/calibration.h"
#include "metrics/logloss.h"
#include "metrics/mean.h"
#include "metrics/ne.h"

namespace millrace {
namespace {

template <typename T>
std::unique_ptr<Metric> make() {
  return std::make_unique<T>();
}

struct Entry {
  absl::string_view name;
  std::unique_ptr<Metric> (*make)();
};

// Every metric; a new one needs a line here.
constexpr Entry kMetrics[] = {
    {"auc", &make<AucMetric>},
    {"calibration", &make<CalibrationMetric>},
    {"logloss", &make<LogLossMetric>},
    {"mean", &make<MeanMetric>},
    {"ne", &make<NormalizedEntropyMetric>},
};

}  // namespace

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const Entry& entry : kMetrics) names.emplace_back(entry.name);
  std::sort(names.begin(), names.end());
  return names;
}

absl::StatusOr<std::unique_ptr<Metric>> create_metric(absl::string_view name) {
  for (const Entry& entry : kMetrics) {
    if (entry.name == name) return entry.make();
  }
  return absl::NotFoundError(
      absl::StrCat("no metric \"", name, "\"", did_you_mean(name, metric_names())));
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
