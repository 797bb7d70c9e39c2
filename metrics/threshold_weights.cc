#include "metrics/threshold_weights.h"

namespace millrace {

void ThresholdWeights::add(double threshold, double positives, double negatives,
                           double all_positives, double all_negatives) {
  thresholds.push_back(threshold);
  true_positives.push_back(all_positives - positives);
  false_positives.push_back(all_negatives - negatives);
  true_negatives.push_back(negatives);
  false_negatives.push_back(positives);
}

}  // namespace millrace
