// The base of metrics over the order of all predictions.
#ifndef MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_
#define MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_

#include <array>
#include <cstdint>
#include <vector>

#include "metrics/kept_examples_metric.h"
#include "metrics/scored_example.h"
#include "metrics/threshold_weights.h"

namespace millrace {

// Sums of metrics over the order of predictions.
struct RankingSums {
  double area = 0;
  ClassWeights classes;
  // Of all examples, and of those from a threshold of ThresholdWeights, exclusive, to the next,
  // inclusive; element 0 has those up to 1 / kIntervals. For metrics with thresholds.
  ClassWeights all;
  std::array<ClassWeights, ThresholdWeights::kIntervals> intervals;
};

// Keeps every example exactly (8 bytes an example), sorted by sort_examples(). An example is
// positive if its label is above 0.5. A derived class has a name and a formula: add_sorted() and
// value().
class SortedExamplesMetric : public KeptExamplesMetric<ScoredExample, RankingSums> {
 private:
  bool keep(const MetricInput& input, std::vector<ScoredExample>* kept) const override;
  void sort_kept(std::vector<ScoredExample>* examples) const override { sort_examples(examples); }
  uint32_t range_key(const ScoredExample& example) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_
