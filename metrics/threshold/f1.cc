#include "metrics/threshold/f1.h"

#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(
    f1, "harmonic mean of precision and recall",
    [](const CustomConfig& config) {
      return create_threshold_metric<F1Metric>(config.GetExtension(f1));
    },
    threshold_traits());

}  // namespace

double F1Metric::compute() const {
  const double found = 2 * counts().true_positives;
  return ratio(found, found + counts().false_positives + counts().false_negatives);
}

}  // namespace millrace
