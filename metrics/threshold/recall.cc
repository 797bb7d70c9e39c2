#include "metrics/threshold/recall.h"

#include "metrics/metric_registry.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(
    recall, "share of positives that are predicted positive",
    [](const CustomConfig& config) {
      return create_threshold_metric<RecallMetric>(config.GetExtension(recall));
    },
    threshold_traits());

}  // namespace

double RecallMetric::compute() const {
  return ratio(counts().true_positives, counts().true_positives + counts().false_negatives);
}

}  // namespace millrace
