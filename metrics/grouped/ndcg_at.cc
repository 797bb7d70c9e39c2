#include "metrics/grouped/ndcg_at.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

double discount(size_t rank) { return 1 / std::log2(static_cast<double>(rank) + 1); }

MILLRACE_REGISTER_METRIC(ndcg_at,
                         "normalised discounted cumulative gain of the first K of each group",
                         &NdcgAtMetric::create, ranking_traits(MetricCutoff::kRequired));

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> NdcgAtMetric::create(const CustomConfig& config) {
  const bool linear = config.GetExtension(ndcg_at).gain() == NdcgAtConfig::LINEAR;
  return std::make_unique<NdcgAtMetric>(config.name(), linear ? Gain::kLinear : Gain::kExponential);
}

double NdcgAtMetric::compute_ranking(absl::Span<const Tie> ties, size_t) const {
  double dcg = 0;
  std::vector<double> gains;
  for (const Tie& tie : ties) {
    double sum = 0;
    for (const GroupedExample& example : tie.examples) {
      if (example.value < 0) return std::numeric_limits<double>::quiet_NaN();
      const double label = example.value;
      gains.push_back(gain_ == Gain::kLinear ? label : std::exp2(label) - 1);
      sum += gains.back();
    }
    const double mean = sum / static_cast<double>(tie.count());
    for (size_t i = 0; i < tie.within(cutoff()); ++i) dcg += mean * discount(tie.first_rank + i);
  }
  const size_t shown = std::min(cutoff(), gains.size());
  std::partial_sort(gains.begin(), gains.begin() + shown, gains.end(), std::greater<>());
  double ideal = 0;
  for (size_t i = 0; i < shown; ++i) ideal += gains[i] * discount(i + 1);
  return dcg / ideal;
}

}  // namespace millrace
