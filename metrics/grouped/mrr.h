// Mean reciprocal rank.
#ifndef MILLRACE_METRICS_GROUPED_MRR_H_
#define MILLRACE_METRICS_GROUPED_MRR_H_

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "metrics/grouped/ranking_metric.h"

namespace millrace {

// The mean over groups of 1 / the rank of the first relevant example; with a cutoff k, 0 where that
// rank is above k. See RankingMetric for groups, weights and ties.
class MrrMetric : public RankingMetric {
 public:
  explicit MrrMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_MRR_H_
