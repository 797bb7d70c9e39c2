// The conformance suite of metrics.
#ifndef MILLRACE_METRICS_METRIC_CONFORMANCE_H_
#define MILLRACE_METRICS_METRIC_CONFORMANCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "metrics/metric.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

// Examples of one binary task that a test owns.
struct MetricExamples {
  std::vector<float> predictions;
  std::vector<float> labels;
  std::vector<float> weights;        // empty: all 1
  std::vector<int64_t> groups = {};  // empty: none

  // The examples in [begin, end). The result borrows this object.
  MetricInput slice(size_t begin, size_t end) const;
  MetricInput all() const { return slice(0, predictions.size()); }
};

// Returns `count` examples that depend only on `seed`: predictions from a coarse grid, so that many
// are equal; labels of 0 and 1, both of which occur from four examples on; weights with some zeros;
// groups, of which the first has both labels from four examples on.
MetricExamples random_examples(uint64_t seed, size_t count, bool weighted);

// Creates a new object of the metric under test.
using MakeMetric = std::function<std::unique_ptr<Metric>()>;

// Returns the promises of Metric: not-a-number without examples; the same bits for any cut into
// batches; a compute() that changes nothing; merged parts that equal one pass up to rounding, also
// where parts are empty; after reset() the state of a new metric; weight 1 that equals no weights,
// weight 0 no example, and weight 2 two examples or, with MetricTraits::ignores_weights, one;
// not-a-number after not-a-number, also through merge() and merge_saved(). A saved metric that is
// merged into a new one has the same bits and continues alike; a RangedMetric has the same bits
// after each merge by ranges; bytes that are cut short, too long, changed or random are DataLoss or
// a metric, and DataLoss changes nothing.
std::vector<Property> metric_properties(const MakeMetric& make);

// Registers metric_properties() as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kAuc =
//       register_metric_conformance("Auc", [] { return std::make_unique<AucMetric>(); });
bool register_metric_conformance(const std::string& suite, const MakeMetric& make,
                                 std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_CONFORMANCE_H_
