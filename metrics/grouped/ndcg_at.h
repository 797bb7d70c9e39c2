// Normalised discounted cumulative gain within groups.
#ifndef MILLRACE_METRICS_GROUPED_NDCG_AT_H_
#define MILLRACE_METRICS_GROUPED_NDCG_AT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "metrics/grouped/ranking_metric.h"

namespace millrace {

// The gain of a label.
enum class Gain {
  kLinear,       // the label
  kExponential,  // 2^label - 1
};

// The mean over groups of NDCG@k (Järvelin and Kekäläinen, ACM TOIS 20(4), 2002):
//
//   DCG@k = sum over ranks i = 1, …, k of gain(label_i) / log2(i + 1)
//   NDCG@k = DCG@k / DCG@k of the group ordered by its labels
//
// gain is the label, or 2^label - 1 with EXPONENTIAL. Ties have their mean gain at each of their
// ranks, as scikit-learn's ndcg_score has it. Labels are at least 0; a negative one makes the
// result not-a-number. See RankingMetric for groups, weights and ties.
class NdcgAtMetric : public RankingMetric {
 public:
  // `config`: the name with the cutoff, and [millrace.ndcg_at].
  static absl::StatusOr<std::unique_ptr<Metric>> create(const CustomConfig& config);
  explicit NdcgAtMetric(std::string name, Gain gain = Gain::kLinear)
      : RankingMetric(std::move(name)), gain_(gain) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;

 private:
  const Gain gain_;
  mutable std::vector<double> gains_;  // above 0, in compute_ranking(); its memory is kept
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_NDCG_AT_H_
