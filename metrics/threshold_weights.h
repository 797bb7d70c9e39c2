// Weights of right and wrong decisions at many thresholds.
#ifndef MILLRACE_METRICS_THRESHOLD_WEIGHTS_H_
#define MILLRACE_METRICS_THRESHOLD_WEIGHTS_H_

#include <cstdint>
#include <vector>

namespace millrace {

// Sums of example weights. Element i of each vector is of deciding "positive" for predictions above
// thresholds[i]; for threshold 0, of deciding "positive" always, so that a curve begins with recall
// 1. Thresholds are ascending, in [0, 1].
struct ThresholdWeights {
  // A metric has at most 201 thresholds: 0, 1/200, …, 1.
  static constexpr int64_t kIntervals = 200;

  std::vector<double> thresholds;
  std::vector<double> true_positives, false_positives, true_negatives, false_negatives;

  // Adds a threshold. `positives`, `negatives`: the weights of the examples of each class that are
  // decided "negative". `all_positives`, `all_negatives`: of all examples of each class.
  void add(double threshold, double positives, double negatives, double all_positives,
           double all_negatives);
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_THRESHOLD_WEIGHTS_H_
