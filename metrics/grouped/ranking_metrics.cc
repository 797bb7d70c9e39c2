#include "metrics/grouped/ranking_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "metrics/auc.h"
#include "metrics/metric_registry.h"
#include "metrics/scored_example.h"
#include "proto/metric_options.pb.h"

namespace millrace {
namespace {

MILLRACE_REGISTER_METRIC(hit_rate_at, "share of groups with a relevant example among the first K",
                         &create_ranking_metric<HitRateAtMetric>,
                         ranking_traits(MetricCutoff::kRequired));

MILLRACE_REGISTER_METRIC(map_at, "mean average precision of the first K of each group",
                         &create_ranking_metric<MapAtMetric>,
                         ranking_traits(MetricCutoff::kRequired));

MILLRACE_REGISTER_METRIC(mrr, "mean of 1 / rank of the first relevant example of each group",
                         &create_ranking_metric<MrrMetric>,
                         ranking_traits(MetricCutoff::kOptional));

// Number of ranks whose discounts are computed once.
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

MILLRACE_REGISTER_METRIC(recall_at,
                         "share of the relevant examples that are among the first K of a group",
                         &create_ranking_metric<RecallAtMetric>,
                         ranking_traits(MetricCutoff::kRequired));

}  // namespace

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

// The example at each place of a tie of n examples, r of them relevant, is relevant with the
// probability r / n; then each earlier example of the tie is relevant with the probability (r - 1)
// / (n - 1).
double MapAtMetric::compute_ranking(absl::Span<const Tie> ties, const Group& group) const {
  double sum = 0;
  size_t found = 0;  // relevant examples of the ties before
  for (const Tie& tie : ties) {
    const double n = static_cast<double>(tie.count()), r = static_cast<double>(tie.positives);
    const double others = tie.count() > 1 ? (r - 1) / (n - 1) : 0;
    for (size_t i = 0; i < tie.within(cutoff()) && tie.positives > 0; ++i) {
      const double relevant = static_cast<double>(found) + 1 + static_cast<double>(i) * others;
      sum += r / n * relevant / static_cast<double>(tie.first_rank + i);
    }
    found += tie.positives;
  }
  return sum / static_cast<double>(std::min(cutoff(), group.positives));
}

// The first tie with a relevant example decides. Of its n examples r are relevant; the first of
// them is at place j with the probability C(n - j, r - 1) / C(n, r).
double MrrMetric::compute_ranking(absl::Span<const Tie> ties, const Group&) const {
  for (const Tie& tie : ties) {
    if (tie.positives == 0) continue;
    const double n = static_cast<double>(tie.count()), r = static_cast<double>(tie.positives);
    double probability = r / n, value = 0;
    for (size_t j = 1; j <= tie.within(cutoff()) && probability > 0; ++j) {
      value += probability / static_cast<double>(tie.first_rank + j - 1);
      const double left = n - static_cast<double>(j);  // places after j
      probability = left > 0 ? probability * (left - r + 1) / left : 0;
    }
    return value;
  }
  return 0;
}

absl::StatusOr<std::unique_ptr<Metric>> NdcgAtMetric::create(const CustomConfig& config) {
  const bool linear = config.GetExtension(ndcg_at).gain() == NdcgAtConfig::LINEAR;
  return std::make_unique<NdcgAtMetric>(config.name(), linear ? Gain::kLinear : Gain::kExponential);
}

double NdcgAtMetric::compute_ranking(absl::Span<const Tie> ties, const Group& group) const {
  const auto gain_of = [&](const GroupedExample& example) {
    const double label = example.value;
    return gain_ == Gain::kLinear ? label : std::exp2(label) - 1;
  };
  // Each rank of a tie has the mean gain of the tie, which is the expectation over its orders.
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
  // The ideal order has the largest gains first. Gains of 0 add nothing and were omitted.
  const size_t shown = std::min(cutoff(), gains_.size());
  std::partial_sort(gains_.begin(), gains_.begin() + shown, gains_.end(), std::greater<>());
  double ideal = 0;
  for (size_t i = 0; i < shown; ++i) ideal += gains_[i] * discount(i + 1);
  return dcg / ideal;
}

// Each example of a tie is among the first k with the probability within / count.
double RecallAtMetric::compute_ranking(absl::Span<const Tie> ties, const Group& group) const {
  double found = 0;
  for (const Tie& tie : ties) {
    found += static_cast<double>(tie.positives) * static_cast<double>(tie.within(cutoff())) /
             static_cast<double>(tie.count());
  }
  return found / static_cast<double>(group.positives);
}

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
  double area = 0;
  ClassWeights sums;
  add_to_area(
      examples, [](const GroupedExample& example) { return example.value; }, &area, &sums);
  if (sums.positives == 0 || sums.negatives == 0) return std::nullopt;
  const bool positives = weight_ == GroupWeight::kPositives;
  return GroupResult{auc_of_area(area, sums),
                     positives ? sums.positives : sums.positives + sums.negatives};
}

}  // namespace millrace
