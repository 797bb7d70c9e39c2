// Means of errors.
#ifndef MILLRACE_METRICS_ERROR_ERROR_METRICS_H_
#define MILLRACE_METRICS_ERROR_ERROR_METRICS_H_

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

// sum of w |x - y| / sum of w, in the unit of the label. See ErrorMetric.
class MaeMetric : public ErrorMetric {
 public:
  absl::string_view name() const override { return "mae"; }

 private:
  double cost(double error) const override;
};

// sum of w (x - y)^2 / sum of w. See ErrorMetric.
class MseMetric : public ErrorMetric {
 public:
  absl::string_view name() const override { return "mse"; }

 private:
  double cost(double error) const override;
};

// sqrt(sum of w (x - y)^2 / sum of w), in the unit of the label. See ErrorMetric.
class RmseMetric : public ErrorMetric {
 public:
  absl::string_view name() const override { return "rmse"; }
  double compute() const override;

 private:
  double cost(double error) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_ERROR_ERROR_METRICS_H_
