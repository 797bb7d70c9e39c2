#include "metrics/threshold/accuracy.h"

#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(
    accuracy, "share of right decisions at a threshold",
    [](const CustomConfig& config) {
      return create_threshold_metric<AccuracyMetric>(config.GetExtension(accuracy));
    },
    threshold_traits());

}  // namespace

double AccuracyMetric::compute() const {
  const double right = counts().true_positives + counts().true_negatives;
  return ratio(right, right + counts().false_positives + counts().false_negatives);
}

}  // namespace millrace
