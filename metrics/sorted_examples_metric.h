// The base of metrics over the order of all predictions.
#ifndef MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_
#define MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "metrics/metric.h"
#include "metrics/scored_example.h"

namespace millrace {

// Keeps every example exactly (8 bytes an example) and sorts the examples when the value is
// computed, O(n log n). The value is equal to the last bit whatever the order of the examples. An
// example is positive if its label is above 0.5. A derived class has a name and a formula.
class SortedExamplesMetric : public Metric {
 public:
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override;
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  // Returns the value over all examples, which are sorted by is_before(). `sorted` may be empty.
  // Called by compute(), except after not-a-number.
  virtual double compute_sorted(absl::Span<const ScoredExample> sorted) const = 0;

  // The order has no meaning: compute() sorts the examples in place.
  mutable std::vector<ScoredExample> examples_;
  bool not_a_number_ = false;  // true after an example for which is_number() is false
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_SORTED_EXAMPLES_METRIC_H_
