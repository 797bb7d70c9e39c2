#include "metrics/grouped/gauc.h"

#include <algorithm>

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

void GaucMetric::set_values(const MetricInput& input, absl::Span<float> values) const {
  for (size_t i = 0; i < values.size(); ++i) values[i] = scored_example(input, i).signed_weight;
}

std::optional<GroupedMetric::GroupResult> GaucMetric::compute_group(
    absl::Span<const GroupedExample> examples) const {
  const auto is_positive = [](const GroupedExample& example) { return example.value > 0; };
  const bool first = is_positive(examples[0]);
  if (std::all_of(examples.begin(), examples.end(),
                  [&](const auto& example) { return is_positive(example) == first; })) {
    return std::nullopt;
  }
  ClassWeights sums;
  const double auc = auc_of_sorted(
      examples, [](const GroupedExample& example) { return example.value; }, &sums);
  if (sums.positives == 0 || sums.negatives == 0) return std::nullopt;
  const bool positives = weight_ == GroupWeight::kPositives;
  return GroupResult{auc, positives ? sums.positives : sums.positives + sums.negatives};
}

}  // namespace millrace
