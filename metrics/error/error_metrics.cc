#include "metrics/error/error_metrics.h"

#include <cmath>
#include <limits>

#include "metrics/metric_registry.h"
#include "metrics/saved_metric.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(mae, "mean absolute error", &create_plain_metric<MaeMetric>,
                         {.direction = MetricDirection::kLowerIsBetter});

MILLRACE_REGISTER_METRIC(mse, "mean squared error", &create_plain_metric<MseMetric>,
                         {.direction = MetricDirection::kLowerIsBetter});

MILLRACE_REGISTER_METRIC(rmse, "root of the mean squared error", &create_plain_metric<RmseMetric>,
                         {.direction = MetricDirection::kLowerIsBetter});

}  // namespace

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

double MaeMetric::cost(double error) const { return std::fabs(error); }

double MseMetric::cost(double error) const { return error * error; }

double RmseMetric::compute() const { return std::sqrt(ErrorMetric::compute()); }

double RmseMetric::cost(double error) const { return error * error; }

}  // namespace millrace
