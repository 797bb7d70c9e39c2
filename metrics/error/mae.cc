#include "metrics/error/mae.h"

#include <cmath>

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(mae, "mean absolute error", &create_plain_metric<MaeMetric>,
                         {.direction = MetricDirection::kLowerIsBetter});

}  // namespace

double MaeMetric::cost(double error) const { return std::fabs(error); }

}  // namespace millrace
