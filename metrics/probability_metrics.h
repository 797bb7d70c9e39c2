// Metrics of probabilities: log loss, normalised entropy and calibration.
#ifndef MILLRACE_METRICS_PROBABILITY_METRICS_H_
#define MILLRACE_METRICS_PROBABILITY_METRICS_H_

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

// The log loss divided by the log loss of predicting the mean label for every example (He et al.,
// "Practical lessons from predicting clicks on ads at Facebook", ADKDD 2014):
//
//   NE = mean log loss / (-m ln m - (1 - m) ln(1 - m)),   m = the mean label, all by weight
//
// Below 1: better than the mean. Unlike log loss, the value does not depend on the share of
// positives. Undefined without examples, and if all labels are 0 or all labels are 1.
class NormalizedEntropyMetric : public Metric {
 public:
  absl::string_view name() const override { return "ne"; }
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override { *this = NormalizedEntropyMetric(); }
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  double loss_ = 0;    // sum of weight * log_loss
  double label_ = 0;   // sum of weight * label
  double weight_ = 0;  // sum of weights
};

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

#endif  // MILLRACE_METRICS_PROBABILITY_METRICS_H_
