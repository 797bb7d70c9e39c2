// Expected calibration error.
#ifndef MILLRACE_METRICS_CALIBRATION_ERROR_H_
#define MILLRACE_METRICS_CALIBRATION_ERROR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "metrics/bucket_sums.h"
#include "metrics/metric.h"

namespace millrace {

// The mean distance of predictions and labels, bucket by bucket (Guo et al., "On calibration of
// modern neural networks", ICML 2017):
//
//   ECE = sum over buckets b of W_b / W * |mean prediction in b - mean label in b|
//       = sum over buckets b of |sum of w (x - y) in b| / W
//
// W_b is the weight of the bucket, W the weight of all examples. See BucketSums for the buckets,
// which have the bounds of scikit-learn's calibration_curve. 0 is best. A value of few examples in
// a bucket is mostly chance, so values are comparable with equal buckets and similar numbers of
// examples. Undefined without examples, and after a prediction, label or weight that is infinite.
//
// Takes 8 bytes a bucket. Sums run example after example.
class CalibrationErrorMetric : public Metric {
 public:
  // REQUIRES: buckets is 1 to 1000000.
  explicit CalibrationErrorMetric(int64_t buckets) : gaps_(buckets) {}

  absl::string_view name() const override { return "calibration_error"; }
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override;
  // REQUIRES: `other` has the same number of buckets.
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  BucketSums gaps_;    // of weight * (prediction - label)
  double weight_ = 0;  // sum of weights; not-a-number after a value that is not finite
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_CALIBRATION_ERROR_H_
