// The base of metrics of errors: MSE, RMSE, MAE.
#ifndef MILLRACE_METRICS_ERROR_ERROR_METRIC_H_
#define MILLRACE_METRICS_ERROR_ERROR_METRIC_H_

#include <string>

#include "metrics/metric.h"

namespace millrace {

// The mean of a cost over examples, by weight. The cost is a function of prediction - label, the
// difference of both in float64. Undefined without examples. Predictions and labels may be any
// numbers. Takes constant memory: two sums. A derived class has a name and a cost.
class ErrorMetric : public Metric {
 public:
  void update(const MetricInput& input) override;
  // Returns the mean. Derived classes may return a function of the mean.
  double compute() const override;
  void reset() override;
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  // Returns the cost of one example. Called by update() for examples of weight above 0. The cost of
  // not-a-number must be not-a-number.
  virtual double cost(double error) const = 0;

  double cost_ = 0;    // sum of weight * cost
  double weight_ = 0;  // sum of weights
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_ERROR_ERROR_METRIC_H_
