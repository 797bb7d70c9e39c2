#include "metrics/threshold/accuracy.h"

#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(accuracy, "share of right decisions at a threshold",
                         &AccuracyMetric::create,
                         {.direction = MetricDirection::kHigherIsBetter,
                          .needs_probabilities = true});

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> AccuracyMetric::create(const CustomConfig& config) {
  const float threshold = config.GetExtension(accuracy).threshold();
  RETURN_IF_ERROR(check_threshold(threshold));
  return std::make_unique<AccuracyMetric>(threshold);
}

double AccuracyMetric::compute() const {
  const double right = counts().true_positives + counts().true_negatives;
  return ratio(right, right + counts().false_positives + counts().false_negatives);
}

}  // namespace millrace
