// Recall of the first examples of a ranking.
#ifndef MILLRACE_METRICS_GROUPED_RECALL_AT_H_
#define MILLRACE_METRICS_GROUPED_RECALL_AT_H_

#include <string>
#include <utility>

#include "absl/types/span.h"
#include "metrics/grouped/ranking_metric.h"

namespace millrace {

// The mean over groups of
//
//   recall@k = relevant examples among the first k / relevant examples
//
// See RankingMetric for groups, weights and ties.
class RecallAtMetric : public RankingMetric {
 public:
  explicit RecallAtMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_RECALL_AT_H_
