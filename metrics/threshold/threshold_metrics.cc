#include "metrics/threshold/threshold_metrics.h"

#include <cmath>
#include <limits>
#include <memory>

#include "base/byte_stream.h"
#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

MILLRACE_REGISTER_METRIC(
    accuracy, "share of right decisions at a threshold",
    [](const CustomConfig& config) {
      return std::make_unique<AccuracyMetric>(config.GetExtension(accuracy).threshold());
    },
    threshold_traits());

MILLRACE_REGISTER_METRIC(
    f1, "harmonic mean of precision and recall",
    [](const CustomConfig& config) {
      return std::make_unique<F1Metric>(config.GetExtension(f1).threshold());
    },
    threshold_traits());

MILLRACE_REGISTER_METRIC(
    precision, "share of positives among predicted positives",
    [](const CustomConfig& config) {
      return std::make_unique<PrecisionMetric>(config.GetExtension(precision).threshold());
    },
    threshold_traits());

MILLRACE_REGISTER_METRIC(
    recall, "share of positives that are predicted positive",
    [](const CustomConfig& config) {
      return std::make_unique<RecallMetric>(config.GetExtension(recall).threshold());
    },
    threshold_traits());

}  // namespace

MetricTraits threshold_traits() {
  return {.direction = MetricDirection::kHigherIsBetter, .needs_probabilities = true};
}

void ThresholdMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const double weight = input.weight(i);
    if (weight == 0) continue;
    const float prediction = input.predictions[i];
    const float label = input.labels[i];
    if (std::isnan(prediction) || std::isnan(label) || std::isnan(weight)) {
      counts_ = {kNotANumber, kNotANumber, kNotANumber, kNotANumber};
    } else if (prediction >= threshold_) {
      (label > 0.5f ? counts_.true_positives : counts_.false_positives) += weight;
    } else {
      (label > 0.5f ? counts_.false_negatives : counts_.true_negatives) += weight;
    }
  }
}

void ThresholdMetric::merge(const Metric& other) {
  add(static_cast<const ThresholdMetric&>(other).counts_);
}

std::string ThresholdMetric::save() const {
  ByteWriter writer = begin_saved_metric(name());
  writer.write_float(threshold_);
  writer.write_double(counts_.true_positives);
  writer.write_double(counts_.false_positives);
  writer.write_double(counts_.true_negatives);
  writer.write_double(counts_.false_negatives);
  return writer.take();
}

absl::Status ThresholdMetric::merge_saved(absl::string_view bytes) {
  ASSIGN_OR_RETURN(ByteReader reader, open_saved_metric(name(), bytes));
  const float threshold = reader.read_float();
  ConfusionMatrix saved;
  saved.true_positives = reader.read_double();
  saved.false_positives = reader.read_double();
  saved.true_negatives = reader.read_double();
  saved.false_negatives = reader.read_double();
  if (!reader.done()) return saved_metric_error(name(), "does not hold a threshold and four sums");
  RETURN_IF_ERROR(check_saved_option(name(), "threshold", threshold, threshold_));
  add(saved);
  return absl::OkStatus();
}

double ThresholdMetric::ratio(double a, double b) { return b == 0 ? kNotANumber : a / b; }

void ThresholdMetric::add(const ConfusionMatrix& other) {
  counts_.true_positives += other.true_positives;
  counts_.false_positives += other.false_positives;
  counts_.true_negatives += other.true_negatives;
  counts_.false_negatives += other.false_negatives;
}

double AccuracyMetric::compute() const {
  const double right = counts().true_positives + counts().true_negatives;
  return ratio(right, right + counts().false_positives + counts().false_negatives);
}

double F1Metric::compute() const {
  const double found = 2 * counts().true_positives;
  return ratio(found, found + counts().false_positives + counts().false_negatives);
}

double PrecisionMetric::compute() const {
  return ratio(counts().true_positives, counts().true_positives + counts().false_positives);
}

double RecallMetric::compute() const {
  return ratio(counts().true_positives, counts().true_positives + counts().false_negatives);
}

}  // namespace millrace
