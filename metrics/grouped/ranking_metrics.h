// Metrics of the order within groups.
#ifndef MILLRACE_METRICS_GROUPED_RANKING_METRICS_H_
#define MILLRACE_METRICS_GROUPED_RANKING_METRICS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "metrics/grouped/grouped_metric.h"
#include "metrics/metric_registry.h"

namespace millrace {

// Examples of one group with equal predictions, which take the ranks first_rank, …, first_rank +
// count - 1 in some order. Ranks begin with 1.
struct Tie {
  size_t first_rank = 1;
  absl::Span<const GroupedExample> examples;
  size_t positives = 0;  // examples whose label is above 0.5

  size_t count() const { return examples.size(); }
  // Returns the number of the tie's ranks that are at most `cutoff`.
  size_t within(size_t cutoff) const;
};

// Base class of metrics of a ranking: the examples of a group by prediction, the highest first, of
// which the first `cutoff` are shown. An example is relevant if its label is above 0.5; the value
// that is kept is the label. A group without a relevant example is left out, and the result is the
// mean over the other groups, each with weight 1. Examples of weight 0 are left out; other weights
// do not matter.
//
// Ties: the value is the expectation over all orders of examples with equal predictions, so that
// the value does not depend on the order of arrival.
class RankingMetric : public GroupedMetric {
 public:
  static constexpr size_t kNoCutoff = static_cast<size_t>(-1);

  absl::string_view name() const override { return name_; }

 protected:
  // `name`: with the cutoff, such as "ndcg@10", or without one.
  explicit RankingMetric(std::string name);

  struct Group {
    absl::Span<const GroupedExample> examples;  // as for compute_group()
    size_t positives = 0;                       // relevant examples, at least 1
  };

  // Returns the value of a group. `ties`: all ties whose first rank is at most the cutoff, by rank.
  // Called for each group with a relevant example.
  virtual double compute_ranking(absl::Span<const Tie> ties, const Group& group) const = 0;
  size_t cutoff() const { return cutoff_; }

  void set_values(const MetricInput& input, absl::Span<float> values) const override;
  std::optional<GroupResult> compute_group(
      absl::Span<const GroupedExample> examples) const override;

 private:
  const std::string name_;
  const size_t cutoff_;
  mutable std::vector<Tie> ties_;  // of the group in compute_group(); its memory is kept
};

// Returns the traits of a metric of rankings.
MetricTraits ranking_traits(MetricCutoff cutoff);

// The factory of a metric of rankings without options. `config` has only the name.
template <typename RankingMetricType>
absl::StatusOr<std::unique_ptr<Metric>> create_ranking_metric(const CustomConfig& config) {
  return std::make_unique<RankingMetricType>(config.name());
}

// The share of groups with at least one relevant example among the first k. See RankingMetric for
// groups, weights and ties.
class HitRateAtMetric : public RankingMetric {
 public:
  explicit HitRateAtMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

// The mean over groups of the average precision of the first k:
//
//   AP@k = sum over ranks i = 1, …, k of relevant_i × precision@i / min(k, relevant examples)
//
// See RankingMetric for groups, weights and ties.
class MapAtMetric : public RankingMetric {
 public:
  explicit MapAtMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

// The mean over groups of 1 / the rank of the first relevant example; with a cutoff k, 0 where that
// rank is above k. See RankingMetric for groups, weights and ties.
class MrrMetric : public RankingMetric {
 public:
  explicit MrrMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

// The gain of a label.
enum class Gain {
  kLinear,       // the label
  kExponential,  // 2^label - 1
};

// The mean over groups of NDCG@k (Järvelin and Kekäläinen, ACM TOIS 20(4), 2002):
//
//   DCG@k = sum over ranks i = 1, …, k of gain(label_i) / log2(i + 1)
//   NDCG@k = DCG@k / DCG@k of the group ordered by its labels
//
// gain is the label, or 2^label - 1 with EXPONENTIAL. Each rank of a tie has the mean gain of the
// tie, as in scikit-learn's ndcg_score. Labels are at least 0; a negative one makes the result
// not-a-number. See RankingMetric for groups, weights and ties.
class NdcgAtMetric : public RankingMetric {
 public:
  // `config`: the name with the cutoff, and [millrace.ndcg_at].
  static absl::StatusOr<std::unique_ptr<Metric>> create(const CustomConfig& config);
  explicit NdcgAtMetric(std::string name, Gain gain = Gain::kLinear)
      : RankingMetric(std::move(name)), gain_(gain) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;

 private:
  const Gain gain_;
  mutable std::vector<double> gains_;  // above 0, in compute_ranking(); its memory is kept
};

// The mean over groups of
//
//   recall@k = relevant examples among the first k / relevant examples
//
// See RankingMetric for groups, weights and ties.
class RecallAtMetric : public RankingMetric {
 public:
  explicit RecallAtMetric(std::string name) : RankingMetric(std::move(name)) {}

 protected:
  double compute_ranking(absl::Span<const Tie> ties, const Group& group) const override;
};

// The weight of a group in the mean of GaucMetric.
enum class GroupWeight {
  kExamples,   // the weights of all its examples: impressions
  kPositives,  // the weights of its positive examples: clicks
};

// The mean of the AUC within groups, such as users or requests, by the weight of the group (Zhou et
// al., "Deep interest network for click-through rate prediction", KDD 2018):
//
//   GAUC = sum over groups g of weight_g AUC_g / sum over groups g of weight_g
//
// AUC_g is the AUC of AucMetric (auc.h) over the examples of the group. A group with only one
// class, such as a group of one example, has no AUC and is omitted from both sums. See
// GroupedMetric for what the metric keeps.
class GaucMetric : public GroupedMetric {
 public:
  // Reads [millrace.gauc].
  static absl::StatusOr<std::unique_ptr<Metric>> create(const CustomConfig& config);
  explicit GaucMetric(GroupWeight weight = GroupWeight::kExamples) : weight_(weight) {}

  // Saved bytes do not contain the group weight, so bytes of another group weight are merged too.
  absl::string_view name() const override { return "gauc"; }

 protected:
  void set_values(const MetricInput& input, absl::Span<float> values) const override;
  bool is_kept(float value) const override { return value != 0; }
  std::optional<GroupResult> compute_group(
      absl::Span<const GroupedExample> examples) const override;

 private:
  const GroupWeight weight_;
};

}  // namespace millrace

#endif  // MILLRACE_METRICS_GROUPED_RANKING_METRICS_H_
