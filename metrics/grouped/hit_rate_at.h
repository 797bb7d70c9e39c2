// Hit rate of the first examples of a ranking.
#ifndef MILLRACE_METRICS_GROUPED_HIT_RATE_AT_H_
#define MILLRACE_METRICS_GROUPED_HIT_RATE_AT_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "metrics/grouped/ranking_metric.h"

namespace millrace {

// The share of groups with at least one relevant example among the first k. See RankingMetric for
// groups, weights and ties.
class HitRateAtMetric : public RankingMetric {
 public:
  // `config`: the name with the cutoff.
  static absl::StatusOr<std::unique_ptr<Metric>> create(const CustomConfig& config);
  explicit HitRateAtMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, size_t positives) const override;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_HIT_RATE_AT_H_
