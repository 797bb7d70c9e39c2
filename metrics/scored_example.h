// Examples of metrics over the order of predictions.
#ifndef MILLRACE_METRICS_SCORED_EXAMPLE_H_
#define MILLRACE_METRICS_SCORED_EXAMPLE_H_

#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "base/byte_stream.h"
#include "metrics/metric.h"

namespace millrace {

// The prediction, class and weight of one example.
struct ScoredExample {
  static constexpr size_t kSavedBytes = 8;  // that write_example() appends

  float prediction = 0;
  float signed_weight = 0;  // negative for a negative example
};

// Sums of weights.
struct ClassWeights {
  double positives = 0;
  double negatives = 0;
};

// Returns an example of a batch. The example is positive if its label is above 0.5. If the label is
// not a number, the signed weight is not a number.
inline ScoredExample scored_example(const MetricInput& input, size_t example) {
  const float label = input.labels[example];
  const float weight = static_cast<float>(input.weight(example));
  // Avoids a branch, because the class of an example is unpredictable.
  const float sign = label > 0.5f ? 1.0f : -1.0f;
  return {input.predictions[example], std::isnan(label) ? label : sign * weight};
}

// Returns true if neither the prediction nor the weight is not-a-number. sort_examples() relies
// on this.
inline bool has_numbers(const ScoredExample& example) {
  return !std::isnan(example.prediction) && !std::isnan(example.signed_weight);
}

// Sorts by prediction. Equal predictions are sorted by signed weight, so that sums over the
// examples have the same bits for every initial order. Needs memory for another copy of the
// examples. REQUIRES: has_numbers() of each.
void sort_examples(std::vector<ScoredExample>* examples);

// Returns all examples that have the prediction of the first, or of the last one. The examples are
// at the beginning, or at the end, of `sorted`. REQUIRES: `sorted` is not empty and sorted by
// sort_examples().
absl::Span<const ScoredExample> lowest_tie(absl::Span<const ScoredExample> sorted);
absl::Span<const ScoredExample> highest_tie(absl::Span<const ScoredExample> sorted);

// Adds the weights of both classes to `sums`, in the order of `examples`.
void add_classes(absl::Span<const ScoredExample> examples, ClassWeights* sums);
// Returns the weights of both classes, summed in the order of `examples`.
ClassWeights sum_classes(absl::Span<const ScoredExample> examples);

// Appends the example to `writer`.
void write_example(const ScoredExample& example, ByteWriter* writer);

// Reads the next example into `example`. Returns false if the bytes end or hold an example that no
// metric keeps: with weight 0, or with has_numbers() false.
bool read_example(ByteReader* reader, ScoredExample* example);

}  // namespace millrace

#endif  // MILLRACE_METRICS_SCORED_EXAMPLE_H_
