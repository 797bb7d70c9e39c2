// The base of metrics over the order of all predictions.
#ifndef MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_
#define MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "metrics/kept_examples_metric.h"
#include "metrics/scored_example.h"

namespace millrace {

// Keeps every example exactly (8 bytes an example) and sorts the examples when the value is
// computed, O(n), unless no example was added since the last sort. The value is equal to the last
// bit for every order of the examples. An example is positive if its label is above 0.5. A derived
// class has a name and a formula.
class SortedExamplesMetric : public KeptExamplesMetric<ScoredExample> {
 public:
  double compute() const override;
  void reset() override;

 private:
  bool keep(const MetricInput& input, std::vector<ScoredExample>* kept) const override;
  // Returns the value over all examples, which are sorted by sort_examples(). `sorted` may be
  // empty. Called by compute(), except after not-a-number.
  virtual double compute_sorted(absl::Span<const ScoredExample> sorted) const = 0;

  // Number of examples at the last sort. Examples are only appended, so all of them are sorted
  // while their number is equal to this.
  mutable size_t sorted_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_
