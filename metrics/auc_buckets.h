// Area under the ROC curve in constant memory.
#ifndef MILLRACE_METRICS_AUC_BUCKETS_H_
#define MILLRACE_METRICS_AUC_BUCKETS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "metrics/bucket_sums.h"
#include "metrics/metric.h"

namespace millrace {

// The formula of AucMetric (auc.h), with every prediction replaced by its bucket. See BucketSums
// for the buckets. Undefined where AucMetric is, and after a weight that is infinite.
//
// Error. Let P_b and N_b be the weights of positives and of negatives in bucket b, and P and N
// their sums. A pair of a positive and a negative in different buckets has the same share in both
// values, since a higher prediction is never in a lower bucket. A pair within one bucket has the
// share 1/2 here, and 0, 1/2 or 1 in the exact value, so its error is at most 1/2. Thus
//
//   |auc_buckets - AUC| <= sum over b of P_b N_b / (2 P N)
//
// plus the rounding of sums. error_bound() returns the right side, which follows from the data. It
// is 0 if no bucket has both classes. If no bucket has more than the share q of the positives, or
// none has more than the share q of the negatives, it is at most q / 2: with 10000 buckets and one
// class spread evenly, 0.00005. Nothing smaller than 1/2 holds for all data: if all predictions
// are in one bucket, the value is 1/2. Predictions near 0 alone need more buckets than others.
//
// Takes 16 bytes a bucket. Sums run example after example.
class AucBucketsMetric : public Metric {
 public:
  // REQUIRES: buckets is 1 to 1000000.
  explicit AucBucketsMetric(int64_t buckets) : positives_(buckets), negatives_(buckets) {}

  absl::string_view name() const override { return "auc_buckets"; }
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override;
  // REQUIRES: `other` has the same number of buckets.
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

  // The thresholds are bounds of buckets.
  std::optional<ThresholdWeights> threshold_weights() const override;

  // Returns the bound of the error of compute(); not-a-number where compute() returns that.
  double error_bound() const;

 private:
  BucketSums positives_;  // of weights
  BucketSums negatives_;  // of weights
  bool not_a_number_ = false;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_AUC_BUCKETS_H_
