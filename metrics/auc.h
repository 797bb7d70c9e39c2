// Areas under the ROC curve and the precision-recall curve, exact.
#ifndef MILLRACE_METRICS_AUC_H_
#define MILLRACE_METRICS_AUC_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

#include "absl/types/span.h"
#include "metrics/scored_example.h"
#include "metrics/sorted_examples_metric.h"

namespace millrace {

// Adds examples that are sorted as by sort_examples() to the area, not divided, and to the weights
// of both classes, by the formula of AucMetric. An example has a `prediction`; `signed_weight`
// returns a value as ScoredExample::signed_weight.
template <typename Example, typename SignedWeight>
void add_to_area(absl::Span<const Example> sorted, const SignedWeight& signed_weight, double* area,
                 ClassWeights* classes) {
  double sum = *area, positives = classes->positives, negatives = classes->negatives;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    ClassWeights tied;
    for (; end < sorted.size() && sorted[end].prediction == sorted[begin].prediction; ++end) {
      const double weight = signed_weight(sorted[end]);
      tied.positives += std::max(weight, 0.0);
      tied.negatives += std::max(-weight, 0.0);
    }
    sum += tied.positives * (negatives + tied.negatives / 2);
    positives += tied.positives;
    negatives += tied.negatives;
  }
  *area = sum;
  *classes = {positives, negatives};
}

// Returns the value of AucMetric for the results of add_to_area() over all examples: not-a-number
// without a positive or without a negative.
inline double auc_of_area(double area, const ClassWeights& classes) {
  if (classes.positives == 0 || classes.negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return area / (classes.positives * classes.negatives);
}

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
  void add_sorted(absl::Span<const ScoredExample> sorted, RankingSums* sums) const override;
  void add_details(absl::Span<const ScoredExample> sorted, RankingSums* sums) const override;
  double value(const RankingSums& sums) const override;
};

// Average precision, by the step-wise definition of scikit-learn's average_precision_score:
//
//   AP = sum over thresholds t of (recall(t) - recall(t')) * precision(t)
//
// t runs over the distinct predictions from the highest to the lowest, and t' is the threshold
// before t. Examples of equal prediction count at one threshold, so their order has no effect.
// There is no interpolation between thresholds. A model without skill has the share of positives,
// by weight. Undefined without a positive of weight above 0. See SortedExamplesMetric for what the
// metric keeps.
class PrAucMetric : public SortedExamplesMetric {
 public:
  absl::string_view name() const override { return "pr_auc"; }

 private:
  bool descending() const override { return true; }
  void add_sorted(absl::Span<const ScoredExample> sorted, RankingSums* sums) const override;
  double value(const RankingSums& sums) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_AUC_H_
