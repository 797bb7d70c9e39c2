// The metrics of one training run or one evaluation, computed from tensors.
#ifndef MILLRACE_FRAMEWORK_REPORT_METRIC_SET_H_
#define MILLRACE_FRAMEWORK_REPORT_METRIC_SET_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/ranks/rank_part.h"
#include "framework/report/slice_metrics.h"
#include "hook/events.h"
#include "metrics/metric.h"
#include "metrics/ranged_metric.h"

namespace millrace {

// The examples that StepResult::loss and StepResult::examples cover.
enum class LossScope {
  kThisRank,   // examples of this rank, as in evaluation; ranks are summed
  kWholeStep,  // examples of all ranks, as in training; rank 0's values are used
};

// The mean loss and the named metrics of every task, also of slices. With one task a metric is
// reported by its name, with several as "task/metric"; see SliceMetrics::compute for the names of
// slices. An example without a label for a task (its label is not-a-number) is omitted from all
// metrics of the task. Predictions, labels and weights always cover this rank; the LossScope says
// which examples the loss covers. Used on the trainer's thread.
class MetricSet : public RankPart {
 public:
  // Creates a set. `tasks` are the names of the labels, in the order of the columns of predictions.
  // `configs` are messages of metrics. Slices without metrics use `metrics`. Errors: as
  // create_metric() and SliceMetrics::create().
  static absl::StatusOr<MetricSet> create(const std::vector<std::string>& metrics,
                                          const std::vector<std::string>& tasks,
                                          LossScope scope = LossScope::kThisRank,
                                          absl::Span<const CustomConfig> configs = {},
                                          absl::Span<const SliceOptions> slices = {});

  // Adds one step. Reads its tensors to the CPU. A rank without examples in the step may leave
  // predictions and labels undefined. Errors: as check(); InvalidArgument unless loss_targets is
  // finite and at least 0; of a metric that throws, with its name. The kind of the last two is
  // kPart (base/failure_kind.h).
  absl::Status update(const StepResult& step);

  // Returns OK if update() can add the step. Reads shapes only. Errors: InvalidArgument if
  // predictions or labels are not [examples, tasks], weights or groups are not [examples], or the
  // step does not have the ids of these slices.
  absl::Status check(const StepResult& step) const;

  // Returns name → value over the steps since the last reset. "loss" is the mean over examples, or
  // over the targets of StepResult::loss_targets. If the model counts targets, "loss" is instead
  // the sum of the tasks' losses, and each task also has "task/loss", the mean over its targets.
  // With one task, "task/loss" is omitted. The loss of a task without targets is not-a-number and
  // is omitted from the sum.
  std::map<std::string, double> compute() const;
  // Returns task → weights, from the first metric of each task that provides them; the key is "" if
  // there is one task. See Metric::threshold_weights().
  std::map<std::string, ThresholdWeights> threshold_weights() const;
  // Returns true if a metric keeps every example.
  bool keeps_examples() { return !ranged_metrics().empty(); }
  // From now on, merge_shares() gathers all examples on every rank, as merge() into another set
  // needs.
  void gather_examples() { most_gathered_ = std::numeric_limits<int64_t>::max(); }
  // Returns the number of examples that the loss covers.
  int64_t examples() const { return examples_; }
  void reset();

  std::string save() const override;
  // Merges the metrics of all ranks, in the order of ranks. The result equals the metrics of one
  // process that adds the same examples in this order, up to the rounding of sums; AUC is equal to
  // the last bit. Errors: DataLoss for bytes that save() did not write; InvalidArgument for a rank
  // with other metrics or tasks.
  absl::Status load_ranks(absl::Span<const absl::string_view> ranks) override;

  // Examples of one metric, over all ranks, up to which every rank receives all of them.
  static constexpr int64_t kMostGathered = 1 << 16;

  // Returns save(), except that a metric with more than kMostGathered / `ranks` examples, and at
  // least 512, omits them.
  std::string save_share(int ranks) const override;
  // As load_ranks(). No rank receives all examples of a metric that a share omits; see
  // RangedMetric. Only compute(), threshold_weights(), examples() and reset() may follow, unless
  // gather_examples() was called.
  absl::Status merge_shares(absl::Span<const absl::string_view> shares,
                            Collectives& collectives) override;

  // Adds the content of `other`: its loss, and each metric that this set has. Slices are unchanged.
  // REQUIRES: `other` has the same tasks, and all metrics of this set.
  void merge(const MetricSet& other);

 private:
  struct Task {
    std::string name;    // "" if there is one task
    std::string prefix;  // prefix of the names of its metrics
    std::vector<std::unique_ptr<Metric>> metrics;
    // Used if targets are counted.
    double loss_sum = 0;
    int64_t targets = 0;
  };

  absl::Status add_step(const StepResult& step);
  absl::Status add_loss(const StepResult& step);
  void compute_loss(std::map<std::string, double>& values) const;
  // Updates the metrics of a task with the examples that have its label.
  absl::Status update_task(size_t task, const StepResult& step, absl::Span<const FirstIds> slices);
  std::string save_metrics(size_t most_examples) const;
  absl::Status add_ranks(absl::Span<const absl::string_view> ranks);
  absl::Status load_rank(size_t rank, absl::string_view bytes);
  absl::Status load_metrics(ByteReader& reader);
  size_t metric_count() const;
  // Returns the metrics that are merged by ranges, also those of slices.
  std::vector<RangedMetric*> ranged_metrics();

  std::vector<Task> tasks_;
  std::vector<SliceMetrics> slices_;
  LossScope scope_ = LossScope::kThisRank;
  // Used if no targets are counted. The divisor of a step is its examples or its loss_targets.
  double loss_sum_ = 0;
  double divisor_ = 0;
  int64_t examples_ = 0;
  bool counted_ = false;  // true if the steps have targets
  int64_t most_gathered_ = kMostGathered;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_METRIC_SET_H_
