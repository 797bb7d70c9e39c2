// The metrics of one training run or one evaluation, fed from tensors.
#ifndef MILLRACE_FRAMEWORK_REPORT_METRIC_SET_H_
#define MILLRACE_FRAMEWORK_REPORT_METRIC_SET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "framework/events.h"
#include "framework/ranks/rank_part.h"
#include "framework/report/slice_metrics.h"
#include "metrics/metric.h"

namespace millrace {

// Which examples StepResult::loss and StepResult::examples count.
enum class LossScope {
  kThisRank,   // those of this rank, as in evaluation; ranks are added up
  kWholeStep,  // those of all ranks, as in training; rank 0's values are taken
};

// The mean loss and, for every task, the named metrics, also of slices. With one task a metric is
// reported by its name, with more as "task/metric"; SliceMetrics::compute has the names of slices.
// An example without the label of a task (it is not-a-number) counts in none of its metrics.
// Predictions, labels and weights are always this rank's, the loss is as the LossScope says. Used
// on the trainer's thread.
class MetricSet : public RankPart {
 public:
  // `tasks` are the labels' names, in the order of the columns of predictions. `configs` are
  // messages of metrics. Slices without metrics have `metrics`. Errors: those of create_metric()
  // and SliceMetrics::create().
  static absl::StatusOr<MetricSet> create(const std::vector<std::string>& metrics,
                                          const std::vector<std::string>& tasks,
                                          LossScope scope = LossScope::kThisRank,
                                          absl::Span<const CustomConfig> configs = {},
                                          absl::Span<const SliceOptions> slices = {});

  // Adds one step. Reads its tensors to the CPU. A rank that had no examples in the step may leave
  // predictions and labels undefined. Errors: those of check().
  absl::Status update(const StepResult& step);

  // Returns OK if update() can add the step. Reads shapes only. Errors: InvalidArgument if
  // predictions or labels are not [examples, tasks], weights or groups are not [examples], or the
  // step does not have the ids of these slices.
  absl::Status check(const StepResult& step) const;

  // Returns name → value over the steps since the last reset. "loss" is the mean over examples. Of
  // a model that counts targets it is the sum over tasks of "task/loss", which is the mean over the
  // targets of the task, and is left out with one task. A task without targets has none.
  std::map<std::string, double> compute() const;
  // Returns those of the first metric of each task that knows them; task → weights, "" if there is
  // one task. See Metric::threshold_weights().
  std::map<std::string, ThresholdWeights> threshold_weights() const;
  // Examples the loss is over.
  int64_t examples() const { return examples_; }
  void reset();

  std::string save() const override;
  // The metrics of all ranks' examples, taken in the order of ranks; equal to those of one process
  // that saw them in this order up to the rounding of sums, and AUC to the last bit. Errors,
  // besides those for bad bytes: InvalidArgument for a rank with other metrics or tasks.
  absl::Status load_ranks(absl::Span<const absl::string_view> ranks) override;

  // Adds everything that `other` has seen: its loss, and each metric that this set has. Leaves
  // slices as they are. REQUIRES: `other` has the same tasks, and all metrics of this set.
  void merge(const MetricSet& other);

 private:
  struct Task {
    std::string name;    // "" if there is one task
    std::string prefix;  // of the names of its metrics
    std::vector<std::unique_ptr<Metric>> metrics;
    // Where targets are counted.
    double loss_sum = 0;
    int64_t targets = 0;
  };

  void add_loss(const StepResult& step);
  void compute_loss(std::map<std::string, double>& values) const;
  // Updates the metrics of a task with the examples that have its label.
  void update_task(size_t task, const StepResult& step, absl::Span<const FirstIds> slices);
  absl::Status load_rank(size_t rank, absl::string_view bytes);
  absl::Status load_metrics(ByteReader& reader);
  size_t metric_count() const;

  std::vector<Task> tasks_;
  std::vector<SliceMetrics> slices_;
  LossScope scope_ = LossScope::kThisRank;
  double loss_sum_ = 0;  // where no targets are counted
  int64_t examples_ = 0;
  bool counted_ = false;  // whether the steps have targets
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_REPORT_METRIC_SET_H_
