// Means: of predictions as a metric, and of any values, such as losses and reported numbers.
#ifndef MILLRACE_METRICS_MEAN_H_
#define MILLRACE_METRICS_MEAN_H_

#include <string>

#include "metrics/metric.h"

namespace millrace {

// The mean by weight: sum of w x / sum of w. As a metric, x are the predictions; add() takes any
// values:
//
//   MeanMetric loss;
//   loss.add(summed_loss / targets, targets);   // once per step
//   report(loss.compute());
//
// Undefined without a value of weight above 0.
class MeanMetric : public Metric {
 public:
  absl::string_view name() const override { return "mean"; }
  void update(const MetricInput& input) override;
  // Adds a value. A value of weight 0 does not count. REQUIRES: weight >= 0.
  void add(double value, double weight = 1);
  double compute() const override;
  void reset() override { *this = MeanMetric(); }
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  double sum_ = 0;     // of weight * value
  double weight_ = 0;  // of weights
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_MEAN_H_
