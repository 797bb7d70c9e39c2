#include "metrics/grouped/gauc.h"

#include <vector>

#include "metrics/auc.h"
#include "metrics/metric_registry.h"
#include "metrics/scored_example.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(gauc, "area under the ROC curve, mean over groups", &GaucMetric::create,
                         {.direction = MetricDirection::kHigherIsBetter,
                          .needs_groups = true,
                          .keeps_examples = true});

}  // namespace

absl::StatusOr<std::unique_ptr<Metric>> GaucMetric::create(const CustomConfig& config) {
  const bool positives = config.GetExtension(gauc).weight() == GaucConfig::POSITIVES;
  return std::make_unique<GaucMetric>(positives ? GroupWeight::kPositives : GroupWeight::kExamples);
}

float GaucMetric::value_of(const MetricInput& input, size_t example) const {
  return scored_example(input, example).signed_weight;
}

std::optional<GroupedMetric::GroupResult> GaucMetric::compute_group(
    absl::Span<const GroupedExample> examples) const {
  std::vector<ScoredExample> group;
  group.reserve(examples.size());
  for (const GroupedExample& example : examples) {
    group.push_back({example.prediction, example.value});
  }
  ClassWeights sums;
  const double auc = auc_of_sorted(group, &sums);
  if (sums.positives == 0 || sums.negatives == 0) return std::nullopt;
  const bool positives = weight_ == GroupWeight::kPositives;
  return GroupResult{auc, positives ? sums.positives : sums.positives + sums.negatives};
}

}  // namespace millrace
