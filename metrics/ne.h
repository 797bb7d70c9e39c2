// Normalised entropy of predictions.
#ifndef MILLRACE_METRICS_NE_H_
#define MILLRACE_METRICS_NE_H_

#include <string>

#include "metrics/metric.h"

namespace millrace {

// The log loss divided by the log loss of predicting the mean label for every example (He et al.,
// "Practical lessons from predicting clicks on ads at Facebook", ADKDD 2014):
//
//   NE = mean log loss / (-m ln m - (1 - m) ln(1 - m)),   m = the mean label, all by weight
//
// Below 1: better than the mean. Unlike log loss, the value does not depend on the share of
// positives. Undefined without examples, and if all labels are 0 or all labels are 1.
class NormalizedEntropyMetric : public Metric {
 public:
  absl::string_view name() const override { return "ne"; }
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override { *this = NormalizedEntropyMetric(); }
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  double loss_ = 0;    // sum of weight * log_loss
  double label_ = 0;   // sum of weight * label
  double weight_ = 0;  // sum of weights
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_NE_H_
