// Figures over many examples.
#ifndef MILLRACE_METRICS_METRIC_H_
#define MILLRACE_METRICS_METRIC_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace millrace {

// What metrics see of one batch and one task. All spans have one length, except that empty
// `weights` mean all 1. Predictions are probabilities in [0, 1] for binary tasks.
struct MetricInput {
  absl::Span<const float> predictions;
  absl::Span<const float> labels;
  absl::Span<const float> weights;
};

// Accumulates over batches; compute() may be called at any time and changes nothing. Results do
// not depend on how the examples were cut into batches, and sums run in double. Not thread-safe.
class Metric {
 public:
  virtual ~Metric() = default;
  // The name it is reported by: "auc", "logloss", ...
  virtual absl::string_view name() const = 0;
  virtual void update(const MetricInput& input) = 0;
  // Not-a-number where it is undefined (AUC without positives, a mean of nothing).
  virtual double compute() const = 0;
  virtual void reset() = 0;
  // Adds everything another metric of the same kind has seen.
  // REQUIRES: `other` was made by the same factory.
  virtual void merge(const Metric& other) = 0;
};

// Names that create_metric knows, sorted.
std::vector<std::string> metric_names();

// Errors: NotFound naming the nearest.
absl::StatusOr<std::unique_ptr<Metric>> create_metric(absl::string_view name);

// The metrics of binary tasks, in reporting order: auc, logloss, ne, calibration.
std::vector<std::unique_ptr<Metric>> binary_metrics();

}  // namespace millrace

#endif  // MILLRACE_METRICS_METRIC_H_
