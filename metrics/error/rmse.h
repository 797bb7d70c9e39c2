// Root of the mean squared error.
#ifndef MILLRACE_METRICS_ERROR_RMSE_H_
#define MILLRACE_METRICS_ERROR_RMSE_H_

#include "metrics/error/error_metric.h"

namespace millrace {

// sqrt(sum of w (x - y)^2 / sum of w), in the unit of the label. See ErrorMetric.
class RmseMetric : public ErrorMetric {
 public:
  absl::string_view name() const override { return "rmse"; }
  double compute() const override;

 private:
  double cost(double error) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_ERROR_RMSE_H_
