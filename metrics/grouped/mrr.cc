#include "metrics/grouped/mrr.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(mrr, "mean of 1 / rank of the first relevant example of each group",
                         &create_ranking_metric<MrrMetric>,
                         ranking_traits(MetricCutoff::kOptional));

}  // namespace

// The first tie with a relevant example decides. Of its n examples r are relevant; the first of
// them is at place j with the probability C(n - j, r - 1) / C(n, r).
double MrrMetric::compute_ranking(absl::Span<const Tie> ties, const Group&) const {
  for (const Tie& tie : ties) {
    if (tie.positives == 0) continue;
    const double n = static_cast<double>(tie.count()), r = static_cast<double>(tie.positives);
    double probability = r / n, value = 0;
    for (size_t j = 1; j <= tie.within(cutoff()) && probability > 0; ++j) {
      value += probability / static_cast<double>(tie.first_rank + j - 1);
      const double left = n - static_cast<double>(j);  // places behind j
      probability = left > 0 ? probability * (left - r + 1) / left : 0;
    }
    return value;
  }
  return 0;
}

}  // namespace millrace
