#include "metrics/calibration.h"

#include <limits>

#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(calibration, "mean prediction over mean label",
                         &create_plain_metric<CalibrationMetric>, {.needs_probabilities = true});

}  // namespace

void CalibrationMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const double weight = input.weight(i);
    if (weight == 0) continue;
    prediction_ += weight * input.predictions[i];
    label_ += weight * input.labels[i];
  }
}

double CalibrationMetric::compute() const {
  return label_ == 0 ? std::numeric_limits<double>::quiet_NaN() : prediction_ / label_;
}

void CalibrationMetric::merge(const Metric& other) {
  const auto& from = static_cast<const CalibrationMetric&>(other);
  prediction_ += from.prediction_;
  label_ += from.label_;
}

std::string CalibrationMetric::save() const { return save_sums(name(), {prediction_, label_}); }

absl::Status CalibrationMetric::merge_saved(absl::string_view bytes) {
  return merge_saved_sums(name(), bytes, {&prediction_, &label_});
}

}  // namespace millrace
