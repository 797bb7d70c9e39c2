#include "metrics/error/mse.h"

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(mse, "mean squared error", &create_plain_metric<MseMetric>,
                         {.direction = MetricDirection::kLowerIsBetter});

}  // namespace

double MseMetric::cost(double error) const { return error * error; }

}  // namespace millrace
