// Metrics of decisions at a threshold.
#ifndef MILLRACE_METRICS_THRESHOLD_THRESHOLD_METRICS_H_
#define MILLRACE_METRICS_THRESHOLD_THRESHOLD_METRICS_H_

#include <string>

#include "absl/status/status.h"
#include "metrics/metric.h"
#include "metrics/metric_registry.h"

namespace millrace {

// Sums of the weights of examples, by the class of the label and the predicted class.
struct ConfusionMatrix {
  double true_positives = 0;
  double false_positives = 0;
  double true_negatives = 0;
  double false_negatives = 0;
};

// Counts examples by decision. The decision is positive if the prediction is at least the
// threshold; the label is positive above 0.5. The comparison is in float32: a prediction of 0.7f
// reaches the threshold 0.7, as `predictions >= 0.7` in NumPy. A prediction, label or weight that
// is not a number makes all counts not-a-number.
//
// Takes constant memory: four sums and the threshold, all of which are saved. A derived class has a
// name and a formula.
class ThresholdMetric : public Metric {
 public:
  // REQUIRES: threshold is 0 to 1.
  explicit ThresholdMetric(float threshold) : threshold_(threshold) {}

  void update(const MetricInput& input) override;
  void reset() override { counts_ = {}; }
  // REQUIRES: `other` has the same threshold.
  void merge(const Metric& other) override;
  std::string save() const override;
  // Errors: DataLoss also for bytes of another threshold.
  absl::Status merge_saved(absl::string_view bytes) override;

 protected:
  const ConfusionMatrix& counts() const { return counts_; }

  // Returns a / b; not-a-number if b is 0.
  static double ratio(double a, double b);

 private:
  void add(const ConfusionMatrix& other);

  const float threshold_;
  ConfusionMatrix counts_;
};

// Returns the traits of a metric of decisions.
MetricTraits threshold_traits();

// (TP + TN) / (TP + FP + TN + FN), by weight. See ThresholdMetric for decisions. The accuracy of
// rare positives is high without skill: predicting none has the share of negatives. Undefined
// without examples.
class AccuracyMetric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "accuracy"; }
  double compute() const override;
};

// 2 TP / (2 TP + FP + FN), by weight. See ThresholdMetric for decisions. 0 where precision or
// recall is 0, also if the other is undefined. Undefined without a positive and without a positive
// decision.
class F1Metric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "f1"; }
  double compute() const override;
};

// TP / (TP + FP), by weight. See ThresholdMetric for decisions. Undefined where nothing is
// predicted positive.
class PrecisionMetric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "precision"; }
  double compute() const override;
};

// TP / (TP + FN), by weight. See ThresholdMetric for decisions. Undefined without positives.
class RecallMetric : public ThresholdMetric {
 public:
  using ThresholdMetric::ThresholdMetric;

  absl::string_view name() const override { return "recall"; }
  double compute() const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_THRESHOLD_THRESHOLD_METRICS_H_
