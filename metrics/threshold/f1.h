// Harmonic mean of precision and recall.
#ifndef MILLRACE_METRICS_THRESHOLD_F1_H_
#define MILLRACE_METRICS_THRESHOLD_F1_H_

#include "metrics/threshold/threshold_metric.h"

namespace millrace {

// 2 TP / (2 TP + FP + FN), by weight. See ThresholdMetric for decisions. 0 where precision or
// recall is 0, also if the other is undefined. Undefined without a positive and without a positive
// decision.
class F1Metric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "f1"; }
  double compute() const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_THRESHOLD_F1_H_
