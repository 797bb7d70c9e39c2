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

float RankingMetric::value_of(const MetricInput& input, size_t example) const {
  return input.labels[example];
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
  std::vector<Tie> ties;
  size_t positives = 0;
  for (size_t end = examples.size(), begin = end; end > 0; end = begin) {
    while (begin > 0 && examples[begin - 1].prediction == examples[end - 1].prediction) --begin;
    Tie tie{.first_rank = examples.size() - end + 1,
            .examples = examples.subspan(begin, end - begin)};
    for (const GroupedExample& example : tie.examples) tie.positives += example.value > 0.5f;
    positives += tie.positives;
    ties.push_back(tie);
  }
  if (positives == 0) return std::nullopt;
  return GroupResult{compute_ranking(ties, positives)};
}

}  // namespace millrace
