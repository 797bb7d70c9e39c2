#include "metrics/probability_metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(logloss, "mean binary cross entropy", &create_plain_metric<LogLossMetric>,
                         {.direction = MetricDirection::kLowerIsBetter,
                          .needs_probabilities = true});

MILLRACE_REGISTER_METRIC(ne, "log loss over that of the mean label",
                         &create_plain_metric<NormalizedEntropyMetric>,
                         {.direction = MetricDirection::kLowerIsBetter,
                          .needs_probabilities = true});

MILLRACE_REGISTER_METRIC(calibration, "mean prediction over mean label",
                         &create_plain_metric<CalibrationMetric>, {.needs_probabilities = true});

}  // namespace

double log_loss(double prediction, double label) {
  const double p = std::clamp(prediction, kLogLossEpsilon, 1 - kLogLossEpsilon);
  // Labels are mostly 0 or 1, which need one logarithm instead of two, and no branch on the label.
  if (label * label == label) return -std::log(std::abs(1 - label - p));
  return -label * std::log(p) - (1 - label) * std::log(1 - p);
}

void LogLossMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const double weight = input.weight(i);
    if (weight == 0) continue;
    loss_ += weight * log_loss(input.predictions[i], input.labels[i]);
    weight_ += weight;
  }
}

double LogLossMetric::compute() const {
  return weight_ == 0 ? std::numeric_limits<double>::quiet_NaN() : loss_ / weight_;
}

void LogLossMetric::merge(const Metric& other) {
  const auto& from = static_cast<const LogLossMetric&>(other);
  loss_ += from.loss_;
  weight_ += from.weight_;
}

std::string LogLossMetric::save() const { return save_sums(name(), {loss_, weight_}); }

absl::Status LogLossMetric::merge_saved(absl::string_view bytes) {
  return merge_saved_sums(name(), bytes, {&loss_, &weight_});
}

void NormalizedEntropyMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const double weight = input.weight(i);
    if (weight == 0) continue;
    loss_ += weight * log_loss(input.predictions[i], input.labels[i]);
    label_ += weight * input.labels[i];
    weight_ += weight;
  }
}

double NormalizedEntropyMetric::compute() const {
  const double mean = label_ / weight_;
  // Also true for not-a-number, which is the mean of no weight.
  if (!(mean > 0 && mean < 1)) return std::numeric_limits<double>::quiet_NaN();
  const double entropy = -mean * std::log(mean) - (1 - mean) * std::log(1 - mean);
  return loss_ / weight_ / entropy;
}

void NormalizedEntropyMetric::merge(const Metric& other) {
  const auto& from = static_cast<const NormalizedEntropyMetric&>(other);
  loss_ += from.loss_;
  label_ += from.label_;
  weight_ += from.weight_;
}

std::string NormalizedEntropyMetric::save() const {
  return save_sums(name(), {loss_, label_, weight_});
}

absl::Status NormalizedEntropyMetric::merge_saved(absl::string_view bytes) {
  return merge_saved_sums(name(), bytes, {&loss_, &label_, &weight_});
}

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
