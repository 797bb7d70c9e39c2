// Area under the precision-recall curve, exact.
#ifndef MILLRACE_METRICS_PR_AUC_H_
#define MILLRACE_METRICS_PR_AUC_H_

#include "metrics/sorted_examples_metric.h"

namespace millrace {

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
  double compute_sorted(absl::Span<const ScoredExample> sorted) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_PR_AUC_H_
