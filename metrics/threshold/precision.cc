#include "metrics/threshold/precision.h"

#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(precision, "share of positives among predicted positives",
                         &PrecisionMetric::create,
                         {.direction = MetricDirection::kHigherIsBetter,
                          .needs_probabilities = true});

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> PrecisionMetric::create(const CustomConfig& config) {
  const float threshold = config.GetExtension(precision).threshold();
  RETURN_IF_ERROR(check_threshold(threshold));
  return std::make_unique<PrecisionMetric>(threshold);
}

double PrecisionMetric::compute() const {
  return ratio(counts().true_positives, counts().true_positives + counts().false_positives);
}

}  // namespace millrace
