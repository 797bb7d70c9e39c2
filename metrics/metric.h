// Figures over many examples.
#ifndef MILLRACE_METRICS_METRIC_H_
#define MILLRACE_METRICS_METRIC_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "metrics/threshold_weights.h"
#include "proto/custom.pb.h"

namespace millrace {

// What metrics see of one batch and one task. All spans have one length, except that empty
// `weights` mean all 1, and empty `groups` mean that the examples have no groups.
struct MetricInput {
  absl::Span<const float> predictions;  // probabilities in [0, 1] for binary tasks
  absl::Span<const float> labels;       // in [0, 1] for binary tasks
  absl::Span<const float> weights;      // at least 0; an example of weight 0 does not count
  // The group of each example, such as its user or request, as any number. The examples of a group
  // may be in any batches, on any ranks and in any order.
  absl::Span<const int64_t> groups = {};

  double weight(size_t example) const { return weights.empty() ? 1.0 : weights[example]; }
};

// Accumulates over batches. Sums run in double, example after example, so the result is equal to
// the last bit however the examples were cut into batches. Not thread-safe.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Metric> auc, create_metric("auc"));
//   auc->update({predictions, labels, weights});   // once per batch
//   double value = auc->compute();
//
// A new metric: a file pair, or a class in that of its theme, with MILLRACE_REGISTER_METRIC
// (metric_registry.h), and a test that calls register_metric_conformance (metric_conformance.h).
class Metric {
 public:
  virtual ~Metric() = default;
  // Returns the name in reports: "auc", "logloss", ...
  virtual absl::string_view name() const = 0;
  // Adds the examples of a batch.
  virtual void update(const MetricInput& input) = 0;
  // Returns the value over all examples. May be called at any time. Returns not-a-number where
  // the metric is undefined (AUC without positives, a mean of nothing) and after a prediction,
  // label or weight that is not a number. A metric that needs groups (MetricTraits) also returns
  // not-a-number after an example without a group.
  virtual double compute() const = 0;
  // Returns the weights of right and wrong decisions at thresholds. Returns none where compute() is
  // not-a-number, and from a metric without thresholds, as the default does.
  virtual std::optional<ThresholdWeights> threshold_weights() const { return std::nullopt; }
  // Removes all examples.
  virtual void reset() = 0;
  // Adds the examples of another metric, as if update() had added them last, up to the rounding of
  // sums. REQUIRES: `other` is of the same class as this one.
  virtual void merge(const Metric& other) = 0;
  // Returns the state as bytes for merge_saved(), also of another process.
  virtual std::string save() const = 0;
  // Does what merge() does with the metric of this class whose save() returned `bytes`. A new
  // metric is then equal to that one to the last bit. Allocates at most memory in proportion to the
  // size of `bytes`. Errors: DataLoss for other bytes; the metric is unchanged.
  virtual absl::Status merge_saved(absl::string_view bytes) = 0;
};

// Names that create_metric knows, without cutoffs, sorted.
std::vector<std::string> metric_names();

// Returns a new metric. `name` is a name of metric_names(); that of a metric NAME_at has a cutoff,
// "ndcg@10" for ndcg_at. `configs` may have its message, under the name of metric_names(). Errors:
// NotFound naming the nearest; those of check_cutoff() and of the metric's factory; Internal if
// Metric::name() is another name.
absl::StatusOr<std::unique_ptr<Metric>> create_metric(absl::string_view name,
                                                      absl::Span<const CustomConfig> configs = {});

// The metrics of binary tasks, in reporting order: auc, logloss, ne, calibration.
std::vector<std::unique_ptr<Metric>> binary_metrics();

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_H_
