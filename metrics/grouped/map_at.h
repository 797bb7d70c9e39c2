// Mean average precision.
#ifndef MILLRACE_METRICS_GROUPED_MAP_AT_H_
#define MILLRACE_METRICS_GROUPED_MAP_AT_H_

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "metrics/grouped/ranking_metric.h"

namespace millrace {

// The mean over groups of the average precision of the first k:
//
//   AP@k = sum over ranks i = 1, …, k of relevant_i × precision@i / min(k, relevant examples)
//
// See RankingMetric for groups, weights and ties.
class MapAtMetric : public RankingMetric {
 public:
  explicit MapAtMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_MAP_AT_H_
