#include "metrics/sorted_examples_metric.h"

#include "base/sort/radix_sort.h"

namespace millrace {

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

uint32_t SortedExamplesMetric::range_key(const ScoredExample& example) const {
  return ordered_bits(example.prediction);
}

}  // namespace millrace
