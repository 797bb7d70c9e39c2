#include "metrics/threshold/f1.h"

#include "base/status_macros.h"
#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(f1, "harmonic mean of precision and recall", &F1Metric::create,
                         {.direction = MetricDirection::kHigherIsBetter,
                          .needs_probabilities = true});

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> F1Metric::create(const CustomConfig& config) {
  const float threshold = config.GetExtension(f1).threshold();
  RETURN_IF_ERROR(check_threshold(threshold));
  return std::make_unique<F1Metric>(threshold);
}

double F1Metric::compute() const {
  const double found = 2 * counts().true_positives;
  return ratio(found, found + counts().false_positives + counts().false_negatives);
}

}  // namespace millrace
