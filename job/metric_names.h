// The names of the metrics that a job reports.
#ifndef MILLRACE_JOB_METRIC_NAMES_H_
#define MILLRACE_JOB_METRIC_NAMES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/config.pb.h"

namespace millrace {

// The metrics that a job reports, for checks of the names in its configuration: "SET/METRIC" from
// evaluations of a set of train.eval_data, or of next_window, and "train/METRIC" from reports of
// training. METRIC is "loss" or a metric of the set, by default a metric of train.metric. With
// several labels a metric is "LABEL/METRIC", and a model that reads tasks also reports
// "LABEL/loss".
class MetricNames {
 public:
  // REQUIRES: `config` went through expand_names and validate, and outlives the object.
  // Errors: InvalidArgument of FeatureSchema::create.
  static absl::StatusOr<MetricNames> create(const JobConfig& config);

  // Returns true if a hook that is not part of Millrace may request evaluations at any time.
  bool hooks_may_evaluate() const;

  // Checks that an evaluation of the job reports `metric`, configured at `where`.
  // Errors: InvalidArgument with the nearest name, all sets and all their metrics, or with the
  // reason why the set is never evaluated.
  absl::Status check_evaluated(absl::string_view where, absl::string_view metric) const;

  // Checks that checkpoints have `metric`, configured at `where`: check_evaluated(), and the set is
  // not next_window. Errors: the same, and InvalidArgument for next_window.
  absl::Status check_of_checkpoints(absl::string_view where, absl::string_view metric) const;

  // Checks that evaluations or reports give `metric` repeatedly, so that a hook or a schedule can
  // follow it. Errors: the same; InvalidArgument if the cadence triggers only at the start or the
  // end of a run; InvalidArgument for "train/METRIC" if an evaluation set is named "train".
  absl::Status check_monitored(absl::string_view where, absl::string_view metric) const;

  // Checks that a report of training or an evaluation gives `metric`, a name without a set that is
  // configured at `where`. Errors: InvalidArgument with the nearest name, or with all names.
  absl::Status check_shown(absl::string_view where, absl::string_view metric) const;

 private:
  explicit MetricNames(const JobConfig& config) : config_(config) {}

  std::vector<std::string> metrics_of(absl::string_view source) const;
  // Adds to `names` the metrics of spans, or of slices, for `metrics`.
  void add_spans(const std::vector<std::string>& metrics, std::vector<std::string>& names) const;
  void add_slices(const std::vector<std::string>& metrics, std::vector<std::string>& names) const;
  std::string describe(const std::vector<std::string>& sources) const;
  // Returns true if evaluations of `source` at fixed points, or reports, recur.
  bool is_recurring(absl::string_view source) const;
  std::vector<std::string> evaluated_sets() const;
  std::vector<std::string> find_near(absl::string_view metric,
                                     const std::vector<std::string>& sources) const;
  absl::Status check_set(absl::string_view where, absl::string_view metric,
                         const std::vector<std::string>& sets) const;
  absl::Status check(absl::string_view where, absl::string_view metric, absl::string_view givers,
                     const std::vector<std::string>& sources) const;

  const JobConfig& config_;
  std::vector<std::string> labels_;
};

}  // namespace millrace

#endif  // MILLRACE_JOB_METRIC_NAMES_H_
