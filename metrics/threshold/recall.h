// Share of positives that are found.
#ifndef MILLRACE_METRICS_THRESHOLD_RECALL_H_
#define MILLRACE_METRICS_THRESHOLD_RECALL_H_

#include "metrics/threshold/threshold_metric.h"

namespace millrace {

// TP / (TP + FN), by weight. See ThresholdMetric for decisions. Undefined without positives.
class RecallMetric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "recall"; }
  double compute() const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_THRESHOLD_RECALL_H_
