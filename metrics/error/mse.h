// Mean squared error.
#ifndef MILLRACE_METRICS_ERROR_MSE_H_
#define MILLRACE_METRICS_ERROR_MSE_H_

#include "metrics/error/error_metric.h"

namespace millrace {

// sum of w (x - y)^2 / sum of w. See ErrorMetric.
class MseMetric : public ErrorMetric {
 public:
  absl::string_view name() const override { return "mse"; }

 private:
  double cost(double error) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_ERROR_MSE_H_
