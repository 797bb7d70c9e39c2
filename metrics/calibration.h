// The calibration of predictions.
#ifndef MILLRACE_METRICS_CALIBRATION_H_
#define MILLRACE_METRICS_CALIBRATION_H_

#include <string>

#include "metrics/metric.h"

namespace millrace {

// The sum of predictions over the sum of labels, both by weight: above 1 if the model predicts too
// much. Undefined where the labels sum to 0.
class CalibrationMetric : public Metric {
 public:
  absl::string_view name() const override { return "calibration"; }
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override { *this = CalibrationMetric(); }
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  double prediction_ = 0;  // sum of weight * prediction
  double label_ = 0;       // sum of weight * label
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_CALIBRATION_H_
