// The interface of metrics, which are figures over many examples.
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

// The input of metrics: the examples of one batch for one task. All spans have one length, except
// that empty `weights` mean all 1, and empty `groups` mean that the examples have no groups.
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
// the last bit for every division of the examples into batches. Not thread-safe.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Metric> auc, create_metric("auc"));
//   auc->update({predictions, labels, weights});   // once per batch
//   double value = auc->compute();
//
// To add a metric, write a class in the file of its theme or in a new file, with
// MILLRACE_REGISTER_METRIC (metric_registry.h), and a test that calls register_metric_conformance
// (metric_conformance.h).
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
  // Returns the weights of right and wrong decisions at thresholds; none if compute() is
  // not-a-number or the metric has no thresholds. The default returns none.
  virtual std::optional<ThresholdWeights> threshold_weights() const { return std::nullopt; }
  // Removes all examples.
  virtual void reset() = 0;
  // Adds the examples of another metric, as if update() had added them last, up to the rounding of
  // sums. REQUIRES: `other` is of the same class as this one.
  virtual void merge(const Metric& other) = 0;
  // Returns the state as bytes for merge_saved(), also of another process.
  virtual std::string save() const = 0;
  // Merges the metric of this class whose save() returned `bytes`, as merge() does. If this metric
  // is new, it is then equal to the saved metric to the last bit. Allocates memory at most in
  // proportion to the size of `bytes`. Errors: DataLoss for other bytes, and then the metric is
  // unchanged.
  virtual absl::Status merge_saved(absl::string_view bytes) = 0;
};

// Returns the names that create_metric() knows, without cutoffs, sorted.
std::vector<std::string> metric_names();

// Returns a new metric. `name`: a name of metric_names(); for a metric NAME_at with a cutoff, such
// as "ndcg@10" for ndcg_at. `configs`: may have the message of the metric, under the name of
// metric_names(). Errors: NotFound naming the nearest; as check_cutoff(), check_extension_ranges()
// and the factory of the metric; Internal if Metric::name() is another name.
absl::StatusOr<std::unique_ptr<Metric>> create_metric(absl::string_view name,
                                                      absl::Span<const CustomConfig> configs = {});

// Returns the metrics of binary tasks, in reporting order: auc, logloss, ne, calibration.
std::vector<std::unique_ptr<Metric>> binary_metrics();

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_H_
