#include "metrics/grouped/hit_rate_at.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(hit_rate_at, "share of groups with a relevant example among the first K",
                         &create_ranking_metric<HitRateAtMetric>,
                         ranking_traits(MetricCutoff::kRequired));

}  // namespace

// Within a tie of n examples, r of them relevant, the first m hold none with the probability
// C(n - r, m) / C(n, m), which is a product over m factors.
double HitRateAtMetric::compute_ranking(absl::Span<const Tie> ties, const Group&) const {
  double none = 1;
  for (const Tie& tie : ties) {
    const size_t others = tie.count() - tie.positives;
    for (size_t i = 0; i < tie.within(cutoff()); ++i) {
      const double left = i < others ? static_cast<double>(others - i) : 0;
      none *= left / static_cast<double>(tie.count() - i);
    }
  }
  return 1 - none;
}

}  // namespace millrace
