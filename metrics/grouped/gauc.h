// Area under the ROC curve within groups.
#ifndef MILLRACE_METRICS_GROUPED_GAUC_H_
#define MILLRACE_METRICS_GROUPED_GAUC_H_

#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "metrics/grouped/grouped_metric.h"

namespace millrace {

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

#endif  // MILLRACE_METRICS_GROUPED_GAUC_H_
