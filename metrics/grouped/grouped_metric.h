// Metrics that are computed within groups.
#ifndef MILLRACE_METRICS_GROUPED_GROUPED_METRIC_H_
#define MILLRACE_METRICS_GROUPED_GROUPED_METRIC_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "base/byte_stream.h"
#include "metrics/kept_examples_metric.h"

namespace millrace {

// An example of a metric within groups.
struct GroupedExample {
  static constexpr size_t kSavedBytes = 16;  // int64 and two float32

  int64_t group = 0;
  float prediction = 0;
  float value = 0;  // another value that the metric keeps, such as the label
};

// Serialization for KeptExamplesMetric.
void write_example(const GroupedExample& example, ByteWriter* writer);
bool read_example(ByteReader* reader, GroupedExample* example);

// The mean over groups, not divided.
struct GroupSums {
  double sum = 0;
  double weights = 0;
};

// Base class of metrics that have a value for each group, such as a user or a request, and are the
// mean of these by the weights of groups:
//
//   sum over groups g of weight_g value_g / sum over groups g of weight_g
//
// The examples of a group may come in any order, in any batches and from any ranks; the result is
// equal to the last bit. Undefined if no group has a value, and after an example of weight above 0
// that came without a group or with a number that is not-a-number.
//
// Keeps every example exactly: 16 bytes an example. compute() sorts the examples, O(n), and needs
// the same amount of memory again.
class GroupedMetric : public KeptExamplesMetric<GroupedExample, GroupSums> {
 protected:
  struct GroupResult {
    double value = 0;
    double weight = 1;  // above 0
  };

  // Writes the value that is kept of each example of a batch in addition to the prediction. Called
  // by update().
  virtual void set_values(const MetricInput& input, absl::Span<float> values) const = 0;
  // Returns false for a value that set_values() never writes. The default accepts all numbers.
  virtual bool is_kept(float value) const { return true; }
  // Returns the value of a group, or none if the group is left out. `examples` are all of the
  // group, by prediction from the lowest to the highest, equal ones by value.
  virtual std::optional<GroupResult> compute_group(
      absl::Span<const GroupedExample> examples) const = 0;

 private:
  bool keep(const MetricInput& input, std::vector<GroupedExample>* kept) const override;
  bool may_keep(const GroupedExample& example) const override { return is_kept(example.value); }
  void sort_kept(std::vector<GroupedExample>* examples) const override;
  // Returns a hash of the group.
  uint32_t range_key(const GroupedExample& example) const override;
  void add_sorted(absl::Span<const GroupedExample> sorted, GroupSums* sums) const override;
  double value(const GroupSums& sums) const override;

  mutable std::vector<float> values_;  // of the batch in keep(); its memory is kept
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_GROUPED_METRIC_H_
