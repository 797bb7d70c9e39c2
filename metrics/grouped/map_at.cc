#include "metrics/grouped/map_at.h"

#include <algorithm>

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(map_at, "mean average precision of the first K of each group",
                         &create_ranking_metric<MapAtMetric>,
                         ranking_traits(MetricCutoff::kRequired));

}  // namespace

// In a tie of n examples, r of them relevant, the example at each place is relevant with the
// probability r / n; those before it in the tie then are with the probability (r - 1) / (n - 1).
double MapAtMetric::compute_ranking(absl::Span<const Tie> ties, const Group& group) const {
  double sum = 0;
  size_t found = 0;  // relevant examples of the ties before
  for (const Tie& tie : ties) {
    const double n = static_cast<double>(tie.count()), r = static_cast<double>(tie.positives);
    const double others = tie.count() > 1 ? (r - 1) / (n - 1) : 0;
    for (size_t i = 0; i < tie.within(cutoff()) && tie.positives > 0; ++i) {
      const double relevant = static_cast<double>(found) + 1 + static_cast<double>(i) * others;
      sum += r / n * relevant / static_cast<double>(tie.first_rank + i);
    }
    found += tie.positives;
  }
  return sum / static_cast<double>(std::min(cutoff(), group.positives));
}

}  // namespace millrace
