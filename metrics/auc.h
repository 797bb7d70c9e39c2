// Area under the ROC curve, exact.
#ifndef MILLRACE_METRICS_AUC_H_
#define MILLRACE_METRICS_AUC_H_

#include <string>
#include <vector>

#include "metrics/metric.h"

namespace millrace {

// The probability that a positive example is predicted above a negative one, both drawn by weight:
//
//   AUC = sum over positives p, negatives n of w_p w_n ([x_p > x_n] + [x_p = x_n] / 2)
//         / (sum of w_p * sum of w_n)
//
// Ties count a half: midranks, the trapezoid rule. An example is positive if its label is above
// 0.5. Exact: every prediction is kept (8 bytes an example) and sorted when the value is asked
// for, O(n log n). The result is equal to the last bit whatever the order of the examples.
// Undefined without a positive or without a negative of weight above 0.
class AucMetric : public Metric {
 public:
  absl::string_view name() const override { return "auc"; }
  void update(const MetricInput& input) override;
  double compute() const override;
  void reset() override;
  void merge(const Metric& other) override;
  std::string save() const override;
  absl::Status merge_saved(absl::string_view bytes) override;

 private:
  struct Example {
    float prediction = 0;
    float signed_weight = 0;  // negative for a negative example
  };
  // Its order is of no meaning: compute() sorts it in place.
  mutable std::vector<Example> examples_;
  bool not_a_number_ = false;  // one was seen
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_AUC_H_
