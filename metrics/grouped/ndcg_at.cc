#include "metrics/grouped/ndcg_at.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

// Ranks whose discounts are computed once.
constexpr size_t kDiscounts = 1000;

double compute_discount(size_t rank) { return 1 / std::log2(static_cast<double>(rank) + 1); }

double discount(size_t rank) {
  static const auto discounts = [] {
    std::array<double, kDiscounts> discounts = {};
    for (size_t i = 1; i < kDiscounts; ++i) discounts[i] = compute_discount(i);
    return discounts;
  }();
  return rank < kDiscounts ? discounts[rank] : compute_discount(rank);
}

MILLRACE_REGISTER_METRIC(ndcg_at,
                         "normalised discounted cumulative gain of the first K of each group",
                         &NdcgAtMetric::create, ranking_traits(MetricCutoff::kRequired));

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> NdcgAtMetric::create(const CustomConfig& config) {
  const bool linear = config.GetExtension(ndcg_at).gain() == NdcgAtConfig::LINEAR;
  return std::make_unique<NdcgAtMetric>(config.name(), linear ? Gain::kLinear : Gain::kExponential);
}

double NdcgAtMetric::compute_ranking(absl::Span<const Tie> ties, const Group& group) const {
  const auto gain_of = [&](const GroupedExample& example) {
    const double label = example.value;
    return gain_ == Gain::kLinear ? label : std::exp2(label) - 1;
  };
  double dcg = 0;
  for (const Tie& tie : ties) {
    double sum = 0;
    for (const GroupedExample& example : tie.examples) {
      if (example.value != 0) sum += gain_of(example);
    }
    if (sum == 0) continue;
    const double mean = sum / static_cast<double>(tie.count());
    for (size_t i = 0; i < tie.within(cutoff()); ++i) dcg += mean * discount(tie.first_rank + i);
  }
  gains_.clear();
  for (const GroupedExample& example : group.examples) {
    if (example.value < 0) return std::numeric_limits<double>::quiet_NaN();
    if (example.value != 0) gains_.push_back(gain_of(example));
  }
  const size_t shown = std::min(cutoff(), gains_.size());
  std::partial_sort(gains_.begin(), gains_.begin() + shown, gains_.end(), std::greater<>());
  double ideal = 0;
  for (size_t i = 0; i < shown; ++i) ideal += gains_[i] * discount(i + 1);
  return dcg / ideal;
}

}  // namespace millrace
