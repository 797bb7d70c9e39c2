// Share of positive decisions that are right.
#ifndef MILLRACE_METRICS_THRESHOLD_PRECISION_H_
#define MILLRACE_METRICS_THRESHOLD_PRECISION_H_

#include "metrics/threshold/threshold_metric.h"

namespace millrace {

// TP / (TP + FP), by weight. See ThresholdMetric for decisions. Undefined where nothing is
// predicted positive.
class PrecisionMetric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "precision"; }
  double compute() const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_THRESHOLD_PRECISION_H_
