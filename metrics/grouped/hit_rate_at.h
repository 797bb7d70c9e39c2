// Hit rate of the first examples of a ranking.
#ifndef MILLRACE_METRICS_GROUPED_HIT_RATE_AT_H_
#define MILLRACE_METRICS_GROUPED_HIT_RATE_AT_H_

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "metrics/grouped/ranking_metric.h"

namespace millrace {

// The share of groups with at least one relevant example among the first k. See RankingMetric for
// groups, weights and ties.
class HitRateAtMetric : public RankingMetric {
 public:
  explicit HitRateAtMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_HIT_RATE_AT_H_
