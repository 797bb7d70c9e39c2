#include "metrics/auc.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(auc, "area under the ROC curve", &create_plain_metric<AucMetric>,
                         {.direction = MetricDirection::kHigherIsBetter, .keeps_examples = true});

}  // namespace

double AucMetric::compute_sorted(absl::Span<const ScoredExample> sorted) const {
  ClassWeights sums;
  return auc_of_sorted(
      sorted, [](const ScoredExample& example) { return example.signed_weight; }, &sums);
}

std::optional<ThresholdWeights> AucMetric::threshold_weights() const {
  if (std::isnan(compute())) return std::nullopt;
  absl::Span<const ScoredExample> sorted = examples();  // by compute()
  const ClassWeights all = sum_classes(sorted);
  ThresholdWeights weights;
  ClassWeights below;
  for (int64_t i = 0; i <= ThresholdWeights::kIntervals; ++i) {
    const double threshold = static_cast<double>(i) / ThresholdWeights::kIntervals;
    size_t end = 0;
    while (i > 0 && end < sorted.size() && sorted[end].prediction <= threshold) ++end;
    const ClassWeights next = sum_classes(sorted.first(end));
    sorted.remove_prefix(end);
    below.positives += next.positives;
    below.negatives += next.negatives;
    weights.add(threshold, below.positives, below.negatives, all.positives, all.negatives);
  }
  return weights;
}

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
