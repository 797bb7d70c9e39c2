// Share of examples whose decision is right.
#ifndef MILLRACE_METRICS_THRESHOLD_ACCURACY_H_
#define MILLRACE_METRICS_THRESHOLD_ACCURACY_H_

#include "metrics/threshold/threshold_metric.h"

namespace millrace {

// (TP + TN) / (TP + FP + TN + FN), by weight. See ThresholdMetric for decisions. The accuracy of
// rare positives is high without skill: predicting none has the share of negatives. Undefined
// without examples.
class AccuracyMetric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "accuracy"; }
  double compute() const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_THRESHOLD_ACCURACY_H_
