#include "metrics/sorted_examples_metric.h"

#include <limits>

namespace millrace {

double SortedExamplesMetric::compute() const {
  if (has_not_a_number()) return std::numeric_limits<double>::quiet_NaN();
  sort_examples(&examples());
  return compute_sorted(examples());
}

std::optional<ScoredExample> SortedExamplesMetric::keep(const MetricInput& input,
                                                        size_t example) const {
  const ScoredExample scored = scored_example(input, example);
  if (!is_number(scored)) return std::nullopt;
  return scored;
}

}  // namespace millrace
