// The difference of the metrics of two models on the same examples, with its interval.
#ifndef MILLRACE_TOOLS_COMPARE_MODELS_H_
#define MILLRACE_TOOLS_COMPARE_MODELS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/report/metric_set.h"
#include "hook/events.h"

namespace millrace {

// The predictions of one model for all examples of a set, in their order. Keeps every example: for
// each task 8 bytes, and 4 or 8 bytes for a weight and a group.
class ScoredSet {
 public:
  // Adds a batch. Copies what it keeps.
  void add(const StepResult& result);
  int64_t examples() const { return examples_; }
  // Returns all batches as one. REQUIRES: add() was called.
  StepResult joined() const;

 private:
  int64_t examples_ = 0;
  std::vector<at::Tensor> predictions_, labels_, weights_, groups_;
};

struct ComparedMetric {
  std::string name;  // as reports have it
  double first = 0, second = 0;
  // The bounds of `second` - `first` in 95 % of the resamples.
  double low = 0, high = 0;
};

inline constexpr int kResamples = 200;

// Compares the metrics of two models by a paired bootstrap: each resample draws every example, or
// with groups every group, as often as a Poisson variable of mean 1 says, for both models alike.
// The draws depend on the numbers of the examples, or on the groups, alone. `make`: returns an
// empty set of the metrics; called by several threads. It leaves out metrics that do not count
// weights (MetricTraits::ignores_weights), which have no interval of this kind. The result has one
// entry per metric, without the loss.
// Time: kResamples computations of the metrics for each model, on `threads` threads. Memory: two
// copies of the sets, and for each thread the metrics of one set.
// Errors: InvalidArgument if the models did not read the same labels; errors of `make` and of
// MetricSet::update().
absl::StatusOr<std::vector<ComparedMetric>> compare_metrics(
    const ScoredSet& first, const ScoredSet& second,
    const std::function<absl::StatusOr<MetricSet>()>& make, int threads);

// Returns a table with a line for each metric.
std::string comparison_text(const std::vector<ComparedMetric>& metrics);

}  // namespace millrace

#endif  // MILLRACE_TOOLS_COMPARE_MODELS_H_
