#include "metrics/grouped/recall_at.h"

#include "metrics/metric_registry.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(recall_at,
                         "share of the relevant examples that are among the first K of a group",
                         &RecallAtMetric::create,
                         {.direction = MetricDirection::kHigherIsBetter,
                          .needs_groups = true,
                          .keeps_examples = true,
                          .ignores_weights = true,
                          .cutoff = MetricCutoff::kRequired});

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> RecallAtMetric::create(const CustomConfig& config) {
  return std::make_unique<RecallAtMetric>(config.name());
}

// Each example of a tie is among the first k with the probability within / count.
double RecallAtMetric::compute_ranking(absl::Span<const Tie> ties, size_t positives) const {
  double found = 0;
  for (const Tie& tie : ties) {
    found += static_cast<double>(tie.positives) * static_cast<double>(tie.within(cutoff())) /
             static_cast<double>(tie.count());
  }
  return found / static_cast<double>(positives);
}

}  // namespace millrace
