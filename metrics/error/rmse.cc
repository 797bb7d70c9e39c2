#include "metrics/error/rmse.h"

#include <cmath>

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(rmse, "root of the mean squared error", &create_plain_metric<RmseMetric>,
                         {.direction = MetricDirection::kLowerIsBetter});

}  // namespace

double RmseMetric::compute() const { return std::sqrt(ErrorMetric::compute()); }

double RmseMetric::cost(double error) const { return error * error; }

}  // namespace millrace
