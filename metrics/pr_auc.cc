#include "metrics/pr_auc.h"

#include <limits>

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(pr_auc, "average precision, the area under the precision-recall curve",
                         &create_plain_metric<PrAucMetric>,
                         {.direction = MetricDirection::kHigherIsBetter, .keeps_examples = true});

}  // namespace

double PrAucMetric::compute_sorted(absl::Span<const ScoredExample> sorted) const {
  double area = 0, positives = 0, negatives = 0;
  while (!sorted.empty()) {
    const absl::Span<const ScoredExample> tie = highest_tie(sorted);
    const ClassWeights tied = sum_classes(tie);
    positives += tied.positives;
    negatives += tied.negatives;
    area += tied.positives * (positives / (positives + negatives));
    sorted.remove_suffix(tie.size());
  }
  return positives == 0 ? std::numeric_limits<double>::quiet_NaN() : area / positives;
}

}  // namespace millrace
