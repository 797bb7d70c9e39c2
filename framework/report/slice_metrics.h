// Metrics of slices of the examples.
#ifndef MILLRACE_FRAMEWORK_REPORT_SLICE_METRICS_H_
#define MILLRACE_FRAMEWORK_REPORT_SLICE_METRICS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/byte_stream.h"
#include "base/catch_exceptions.h"
#include "framework/report/slice_and_span_options.h"
#include "metrics/metric.h"
#include "metrics/ranged_metric.h"

namespace millrace {

// Calls `call` for one metric. Exceptions name the metric.
template <typename Call>
auto call_metric(const Metric& metric, Call&& call) -> decltype(call()) {
  return name_exceptions("metric", metric.name(), call);
}

// Returns RangedMetric::save_share(), or Metric::save() of another metric. Exceptions name the
// metric.
std::string save_metric(const Metric& metric, size_t most_examples);

// Appends the metrics of class RangedMetric to `ranged`.
void add_ranged_metrics(absl::Span<const std::unique_ptr<Metric>> metrics,
                        std::vector<RangedMetric*>& ranged);

// Calls metric.merge_saved(). Errors, also for exceptions: as merge_saved(), with the name of the
// metric.
absl::Status merge_saved_metric(Metric& metric, absl::string_view bytes);

// The metrics of each id of one feature, of the examples without an id ("none") and of the examples
// of all other ids ("other"). Without SliceOptions::ids, the ids are the max_ids smallest of all
// examples, independently of the order, batches and ranks of the examples. When a smaller id
// replaces an id, the replaced id has lost none of its examples, since a removed id never returns,
// and its metrics are merged into "other". Memory is bounded by the memory of max_ids + 2 sets of
// metrics. Not thread-safe.
class SliceMetrics {
 public:
  // The first id of each example. Both spans have the same length.
  struct Ids {
    absl::Span<const int64_t> ids;
    absl::Span<const bool> present;
  };

  // Creates the metrics. `tasks`: number of tasks. Errors: as create_metric().
  static absl::StatusOr<SliceMetrics> create(const SliceOptions& options, size_t tasks,
                                             absl::Span<const CustomConfig> configs);

  // Counts examples, and updates the set of ids that have a slice. Called for all examples of a
  // step, before update().
  void add_ids(const Ids& ids);
  // Adds examples of a task. `input` and `ids` have the same length.
  void update(size_t task, const MetricInput& input, const Ids& ids);

  // Adds "FEATURE=ID/PREFIX" + metric → value, with the name of the id and with the prefix of each
  // task, and "FEATURE=ID/examples" → number of examples. Omits slices without examples.
  void compute(absl::Span<const std::string> prefixes, std::map<std::string, double>& values) const;
  void reset();

  // Writes the result of all calls of add_ids() and update(). See save_metric() for
  // `most_examples`.
  void save(ByteWriter& writer, size_t most_examples = std::numeric_limits<size_t>::max()) const;
  // Merges the output of save() of slices with equal options. Errors: DataLoss for other bytes; the
  // object may then contain a part of them.
  absl::Status merge_saved(ByteReader& reader);
  // Appends the metrics that are merged by ranges. Their number and order follow from the ids that
  // have a slice.
  void add_ranged(std::vector<RangedMetric*>& metrics);

 private:
  struct Slice {
    std::vector<std::vector<std::unique_ptr<Metric>>> tasks;  // the metrics of each task
    int64_t examples = 0;
  };

  SliceMetrics(const SliceOptions& options, size_t tasks, std::vector<CustomConfig> configs);

  absl::StatusOr<Slice> make() const;
  // Adds a slice for `id`, unless the id belongs to "other".
  void add_id(int64_t id);
  Slice& slice_of(int64_t id);
  // Returns the slices, by name.
  std::vector<std::pair<std::string, const Slice*>> named_slices() const;
  static void merge(const Slice& from, Slice& into);
  static void reset(Slice& slice);
  static void save(const Slice& slice, ByteWriter& writer, size_t most_examples);
  static absl::Status merge_saved(Slice& slice, ByteReader& reader);

  SliceOptions options_;
  size_t tasks_;
  std::vector<CustomConfig> configs_;
  std::map<int64_t, Slice> ids_;
  Slice other_, none_;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_SLICE_METRICS_H_
