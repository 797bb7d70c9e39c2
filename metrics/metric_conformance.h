// What every metric must hold, as a suite that its test calls.
#ifndef MILLRACE_METRICS_METRIC_CONFORMANCE_H_
#define MILLRACE_METRICS_METRIC_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "metrics/metric.h"

namespace millrace {

// Examples of one binary task that a test owns.
struct MetricExamples {
  std::vector<float> predictions;
  std::vector<float> labels;
  std::vector<float> weights;  // empty: all 1

  // The examples in [begin, end). The result borrows this object.
  MetricInput slice(size_t begin, size_t end) const;
  MetricInput all() const { return slice(0, predictions.size()); }
};

// `count` examples that follow from `seed`: predictions from a coarse grid, so that many are
// equal; labels of 0 and 1, both of which occur from four examples on; weights with some zeros.
MetricExamples random_examples(uint64_t seed, size_t count, bool weighted);

// Asserts, with GoogleTest, for the metric that `make` makes: nothing seen is not-a-number; any
// cut into batches gives the same bits; compute() changes nothing; merging equals one pass up to
// rounding, also with empty parts; after reset() it is as new; weight 1 is no weight, weight 0 no
// example, and weight 2 two examples; not-a-number comes through. Saved and merged into a new one
// it has the same bits, and goes on the same; saved parts merge like parts; bytes that are cut
// short, too long, changed or random are DataLoss or a metric, and after DataLoss nothing has
// changed.
void test_metric_conformance(const std::function<std::unique_ptr<Metric>()>& make);

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_CONFORMANCE_H_
