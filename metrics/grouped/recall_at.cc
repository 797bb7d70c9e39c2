#include "metrics/grouped/recall_at.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(recall_at,
                         "share of the relevant examples that are among the first K of a group",
                         &create_ranking_metric<RecallAtMetric>,
                         ranking_traits(MetricCutoff::kRequired));

}  // namespace

// Each example of a tie is among the first k with the probability within / count.
double RecallAtMetric::compute_ranking(absl::Span<const Tie> ties, const Group& group) const {
  double found = 0;
  for (const Tie& tie : ties) {
    found += static_cast<double>(tie.positives) * static_cast<double>(tie.within(cutoff())) /
             static_cast<double>(tie.count());
  }
  return found / static_cast<double>(group.positives);
}

}  // namespace millrace
