#include "metrics/auc.h"

#include <limits>

namespace millrace {

double auc_of_sorted(absl::Span<const ScoredExample> sorted) {
  double area = 0, positives = 0, negatives = 0;
  while (!sorted.empty()) {
    const absl::Span<const ScoredExample> tie = lowest_tie(sorted);
    const ClassWeights tied = sum_classes(tie);
    area += tied.positives * (negatives + tied.negatives / 2);
    positives += tied.positives;
    negatives += tied.negatives;
    sorted.remove_prefix(tie.size());
  }
  if (positives == 0 || negatives == 0) return std::numeric_limits<double>::quiet_NaN();
  return area / (positives * negatives);
}

}  // namespace millrace
