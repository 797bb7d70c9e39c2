// Area under the ROC curve, exact.
#ifndef MILLRACE_METRICS_AUC_H_
#define MILLRACE_METRICS_AUC_H_

#include <optional>

#include "absl/types/span.h"
#include "metrics/scored_example.h"
#include "metrics/sorted_examples_metric.h"

namespace millrace {

// Returns the area for examples that are sorted by sort_examples(), by the formula of AucMetric.
// Returns not-a-number without a positive or without a negative. Sets `sums`, if given, to the
// weights of both classes.
double auc_of_sorted(absl::Span<const ScoredExample> sorted, ClassWeights* sums = nullptr);

// The probability that a positive example is predicted above a negative one, both drawn by weight:
//
//   AUC = sum over positives p, negatives n of w_p w_n ([x_p > x_n] + [x_p = x_n] / 2)
//         / (sum of w_p * sum of w_n)
//
// Ties count a half: midranks, the trapezoid rule. Undefined without a positive or without a
// negative of weight above 0. See SortedExamplesMetric for what the metric keeps.
class AucMetric : public SortedExamplesMetric {
 public:
  absl::string_view name() const override { return "auc"; }
  std::optional<ThresholdWeights> threshold_weights() const override;

 private:
  double compute_sorted(absl::Span<const ScoredExample> sorted) const override {
    return auc_of_sorted(sorted);
  }
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_AUC_H_
