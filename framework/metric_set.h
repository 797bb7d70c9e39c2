// The metrics of one training run or one evaluation, fed from tensors.
#ifndef MILLRACE_FRAMEWORK_METRIC_SET_H_
#define MILLRACE_FRAMEWORK_METRIC_SET_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/events.h"
#include "metrics/metric.h"

namespace millrace {

// The mean loss and, for every task, the named metrics. With one task a metric is reported by its
// name, with more as "task/metric". Used on the trainer's thread.
class MetricSet {
 public:
  // `tasks` are the labels' names, in the order of the columns of predictions.
  // Errors: NotFound for an unknown metric.
  static absl::StatusOr<MetricSet> create(const std::vector<std::string>& metrics,
                                          const std::vector<std::string>& tasks);

  // Adds one step. Reads its tensors to the CPU.
  // Errors: InvalidArgument if predictions or labels are not [examples, tasks], or weights not
  // [examples].
  absl::Status update(const StepResult& step);

  // Name → value over the steps since the last reset; "loss" is the mean over examples.
  std::map<std::string, double> compute() const;
  void reset();

 private:
  struct Task {
    std::string prefix;
    std::vector<std::unique_ptr<Metric>> metrics;
  };

  std::vector<Task> tasks_;
  double loss_sum_ = 0;
  int64_t examples_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_METRIC_SET_H_
