#include "metrics/grouped/ranking_metric.h"

#include <algorithm>
#include <utility>

#include "metrics/metric_cutoff.h"

namespace millrace {

size_t Tie::within(size_t cutoff) const {
  return cutoff < first_rank ? 0 : std::min(count(), cutoff - first_rank + 1);
}

RankingMetric::RankingMetric(std::string name)
    : name_(std::move(name)),
      cutoff_(static_cast<size_t>(split_cutoff(name_).cutoff.value_or(kNoCutoff))) {}

void RankingMetric::set_values(const MetricInput& input, absl::Span<float> values) const {
  std::copy(input.labels.begin(), input.labels.end(), values.begin());
}

MetricTraits ranking_traits(MetricCutoff cutoff) {
  return {.direction = MetricDirection::kHigherIsBetter,
          .needs_groups = true,
          .keeps_examples = true,
          .ignores_weights = true,
          .cutoff = cutoff};
}

std::optional<GroupedMetric::GroupResult> RankingMetric::compute_group(
    absl::Span<const GroupedExample> examples) const {
  size_t positives = 0;
  for (const GroupedExample& example : examples) positives += example.value > 0.5f;
  if (positives == 0) return std::nullopt;
  ties_.clear();
  for (size_t end = examples.size(), begin = end; end > 0 && examples.size() - end < cutoff_;
       end = begin) {
    while (begin > 0 && examples[begin - 1].prediction == examples[end - 1].prediction) --begin;
    Tie& tie = ties_.emplace_back();
    tie.first_rank = examples.size() - end + 1;
    tie.examples = examples.subspan(begin, end - begin);
    for (const GroupedExample& example : tie.examples) tie.positives += example.value > 0.5f;
  }
  return GroupResult{compute_ranking(ties_, {examples, positives})};
}

}  // namespace millrace
