#include "metrics/auc.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(auc, "area under the ROC curve", &create_plain_metric<AucMetric>,
                         {.direction = MetricDirection::kHigherIsBetter, .keeps_examples = true});

// Returns the threshold `i` of ThresholdWeights, 0 to kIntervals.
double threshold_at(int64_t i) { return static_cast<double>(i) / ThresholdWeights::kIntervals; }

}  // namespace

void AucMetric::add_sorted(absl::Span<const ScoredExample> sorted, RankingSums* sums) const {
  add_to_area(
      sorted, [](const ScoredExample& example) { return example.signed_weight; }, &sums->area,
      &sums->classes);
}

void AucMetric::add_details(absl::Span<const ScoredExample> sorted, RankingSums* sums) const {
  add_classes(sorted, &sums->all);
  for (int64_t i = 0; i < ThresholdWeights::kIntervals; ++i) {
    size_t end = 0;
    while (end < sorted.size() && sorted[end].prediction <= threshold_at(i + 1)) ++end;
    add_classes(sorted.first(end), &sums->intervals[i]);
    sorted.remove_prefix(end);
  }
}

double AucMetric::value(const RankingSums& sums) const {
  return auc_of_area(sums.area, sums.classes);
}

std::optional<ThresholdWeights> AucMetric::threshold_weights() const {
  if (std::isnan(compute())) return std::nullopt;
  const RankingSums sums = all_sums();
  ThresholdWeights weights;
  ClassWeights below;
  weights.add(threshold_at(0), 0, 0, sums.all.positives, sums.all.negatives);
  for (int64_t i = 0; i < ThresholdWeights::kIntervals; ++i) {
    below.positives += sums.intervals[i].positives;
    below.negatives += sums.intervals[i].negatives;
    weights.add(threshold_at(i + 1), below.positives, below.negatives, sums.all.positives,
                sums.all.negatives);
  }
  return weights;
}

namespace {

MILLRACE_REGISTER_METRIC(pr_auc, "average precision, the area under the precision-recall curve",
                         &create_plain_metric<PrAucMetric>,
                         {.direction = MetricDirection::kHigherIsBetter, .keeps_examples = true});

}  // namespace

void PrAucMetric::add_sorted(absl::Span<const ScoredExample> sorted, RankingSums* sums) const {
  ClassWeights& classes = sums->classes;
  while (!sorted.empty()) {
    const absl::Span<const ScoredExample> tie = highest_tie(sorted);
    const ClassWeights tied = sum_classes(tie);
    classes.positives += tied.positives;
    classes.negatives += tied.negatives;
    sums->area += tied.positives * (classes.positives / (classes.positives + classes.negatives));
    sorted.remove_suffix(tie.size());
  }
}

double PrAucMetric::value(const RankingSums& sums) const {
  const double positives = sums.classes.positives;
  return positives == 0 ? std::numeric_limits<double>::quiet_NaN() : sums.area / positives;
}

}  // namespace millrace
