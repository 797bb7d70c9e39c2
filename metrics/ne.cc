#include "metrics/ne.h"

#include <cmath>
#include <limits>

#include "metrics/logloss.h"
#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(ne, "log loss over that of the mean label",
                         &create_plain_metric<NormalizedEntropyMetric>,
                         {.direction = MetricDirection::kLowerIsBetter,
                          .needs_probabilities = true});

}  // namespace

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

}  // namespace millrace
