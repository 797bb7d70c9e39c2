#include "metrics/threshold/recall.h"

#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(recall, "share of positives that are predicted positive",
                         &RecallMetric::create,
                         {.direction = MetricDirection::kHigherIsBetter,
                          .needs_probabilities = true});

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> RecallMetric::create(const CustomConfig& config) {
  const float threshold = config.GetExtension(recall).threshold();
  RETURN_IF_ERROR(check_threshold(threshold));
  return std::make_unique<RecallMetric>(threshold);
}

double RecallMetric::compute() const {
  return ratio(counts().true_positives, counts().true_positives + counts().false_negatives);
}

}  // namespace millrace
