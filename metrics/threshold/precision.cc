#include "metrics/threshold/precision.h"

#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(
    precision, "share of positives among predicted positives",
    [](const CustomConfig& config) {
      return create_threshold_metric<PrecisionMetric>(config.GetExtension(precision));
    },
    threshold_traits());

}  // namespace

double PrecisionMetric::compute() const {
  return ratio(counts().true_positives, counts().true_positives + counts().false_positives);
}

}  // namespace millrace
