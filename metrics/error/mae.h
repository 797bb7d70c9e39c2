// Mean absolute error.
#ifndef MILLRACE_METRICS_ERROR_MAE_H_
#define MILLRACE_METRICS_ERROR_MAE_H_

#include "metrics/error/error_metric.h"

namespace millrace {

// sum of w |x - y| / sum of w, in the unit of the label. See ErrorMetric.
class MaeMetric : public ErrorMetric {
 public:
  absl::string_view name() const override { return "mae"; }

 private:
  double cost(double error) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_ERROR_MAE_H_
