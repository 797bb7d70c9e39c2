#include "metrics/sorted_examples_metric.h"

#include <limits>

namespace millrace {

double SortedExamplesMetric::compute() const {
  if (has_not_a_number()) return std::numeric_limits<double>::quiet_NaN();
  if (sorted_ != examples().size()) {
    sort_examples(&examples());
    sorted_ = examples().size();
  }
  return compute_sorted(examples());
}

void SortedExamplesMetric::reset() {
  KeptExamplesMetric::reset();
  sorted_ = 0;
}

bool SortedExamplesMetric::keep(const MetricInput& input, std::vector<ScoredExample>* kept) const {
  bool are_numbers = true;
  for (size_t i = 0; i < input.predictions.size(); ++i) {
    if (input.weight(i) == 0) continue;
    const ScoredExample example = scored_example(input, i);
    if (has_numbers(example)) {
      kept->push_back(example);
    } else {
      are_numbers = false;
    }
  }
  return are_numbers;
}

}  // namespace millrace
