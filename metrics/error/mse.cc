#include "metrics/error/mse.h"

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(mse, "mean squared error",
                         [](const CustomConfig&) -> absl::StatusOr<std::unique_ptr<Metric>> {
                           return std::make_unique<MseMetric>();
                         },
                         {.direction = MetricDirection::kLowerIsBetter});

}  // namespace

double MseMetric::cost(double error) const { return error * error; }

}  // namespace millrace
