#include "metrics/error/mae.h"

#include <cmath>

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(mae, "mean absolute error",
                         [](const CustomConfig&) -> absl::StatusOr<std::unique_ptr<Metric>> {
                           return std::make_unique<MaeMetric>();
                         },
                         {.direction = MetricDirection::kLowerIsBetter});

}  // namespace

double MaeMetric::cost(double error) const { return std::fabs(error); }

}  // namespace millrace
