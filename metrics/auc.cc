#include "metrics/auc.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace millrace {

double auc_of_sorted(absl::Span<const ScoredExample> sorted, ClassWeights* sums) {
  double area = 0, positives = 0, negatives = 0;
  while (!sorted.empty()) {
    const absl::Span<const ScoredExample> tie = lowest_tie(sorted);
    const ClassWeights tied = sum_classes(tie);
    area += tied.positives * (negatives + tied.negatives / 2);
    positives += tied.positives;
    negatives += tied.negatives;
    sorted.remove_prefix(tie.size());
  }
  if (sums != nullptr) *sums = {positives, negatives};
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return area / (positives * negatives);
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

}  // namespace millrace
