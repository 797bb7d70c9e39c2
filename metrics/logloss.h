// Log loss (binary cross entropy).
#ifndef MILLRACE_METRICS_LOGLOSS_H_
#define MILLRACE_METRICS_LOGLOSS_H_

#include <string>

#include "metrics/metric.h"

namespace millrace {

// Predictions are clamped to [kLogLossEpsilon, 1 - kLogLossEpsilon] before the logarithm, so that
// one confident mistake costs at most 16.1 and never infinity. A float32 sigmoid reaches 0 and 1 at
// about this distance.
inline constexpr double kLogLossEpsilon = 1e-7;

// Returns -y ln p - (1 - y) ln(1 - p) of one example in nats, with p clamped by kLogLossEpsilon.
double log_loss(double prediction, double label);

// The mean of log_loss over examples, by weight. Undefined without examples.
class LogLossMetric : public Metric {
 public:
  absl::string_view name() const override { return "logloss"; }
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override { *this = LogLossMetric(); }
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  double loss_ = 0;    // sum of weight * log_loss
  double weight_ = 0;  // sum of weights
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_LOGLOSS_H_
