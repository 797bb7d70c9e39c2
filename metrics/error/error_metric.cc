#include "metrics/error/error_metric.h"

#include <limits>

#include "metrics/saved_metric.h"

namespace millrace {

void ErrorMetric::update(const MetricInput& input) {
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    const double weight = input.weight(i);
    if (weight == 0) continue;
    cost_ += weight * cost(double{input.predictions[i]} - double{input.labels[i]});
    weight_ += weight;
  }
}

double ErrorMetric::compute() const {
  return weight_ == 0 ? std::numeric_limits<double>::quiet_NaN() : cost_ / weight_;
}

void ErrorMetric::reset() { cost_ = weight_ = 0; }

void ErrorMetric::merge(const Metric& other) {
  const auto& from = static_cast<const ErrorMetric&>(other);
  cost_ += from.cost_;
  weight_ += from.weight_;
}

std::string ErrorMetric::save() const { return save_sums(name(), {cost_, weight_}); }

absl::Status ErrorMetric::merge_saved(absl::string_view bytes) {
  return merge_saved_sums(name(), bytes, {&cost_, &weight_});
}

}  // namespace millrace
