#include "metrics/mean.h"

#include <limits>

#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(mean, "mean prediction", &create_plain_metric<MeanMetric>);

}  // namespace

void MeanMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    add(input.predictions[i], input.weight(i));
  }
}

void MeanMetric::add(double value, double weight) {
  if (weight == 0) return;
  sum_ += weight * value;
  weight_ += weight;
}

double MeanMetric::compute() const {
  return weight_ == 0 ? std::numeric_limits<double>::quiet_NaN() : sum_ / weight_;
}

void MeanMetric::merge(const Metric& other) {
  const auto& from = static_cast<const MeanMetric&>(other);
  sum_ += from.sum_;
  weight_ += from.weight_;
}

std::string MeanMetric::save() const { return save_sums(name(), {sum_, weight_}); }

absl::Status MeanMetric::merge_saved(absl::string_view bytes) {
  return merge_saved_sums(name(), bytes, {&sum_, &weight_});
}

}  // namespace millrace
