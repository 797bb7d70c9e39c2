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

// Answers whether a metric that a configuration names will be reported: "SET/METRIC" by evaluations
// of a set of train.eval_data, or of next_window; "train/METRIC" by reports of training. METRIC is
// "loss" or one of the set's metrics, by default those of train.metric, which with several labels
// has "LABEL/" before it; of a model that reads tasks also "LABEL/loss" then.
class MetricNames {
 public:
  // REQUIRES: `config` went through expand_names and validate, and outlives the object.
  // Errors: InvalidArgument of FeatureSchema::create.
  static absl::StatusOr<MetricNames> create(const JobConfig& config);

  // Returns true if a hook of the job's own may request evaluations at any time.
  bool hooks_may_evaluate() const;

  // Checks that an evaluation of this job gives `metric`, which is configured at `where`.
  // Errors: InvalidArgument naming the nearest, all sets and all their metrics, or saying why the
  // set is never evaluated.
  absl::Status check_evaluated(absl::string_view where, absl::string_view metric) const;

  // Checks that checkpoints have `metric`, which is configured at `where`: check_evaluated(), and
  // that it is not of next_window. Errors: the same, and InvalidArgument for next_window.
  absl::Status check_of_checkpoints(absl::string_view where, absl::string_view metric) const;

  // Checks that evaluations or reports give `metric` again and again, so that a hook or a schedule
  // can follow it.
  // Errors: the same, InvalidArgument if the cadence triggers only at the start or the end of a
  // run, and InvalidArgument for "train/METRIC" if there is an evaluation set "train".
  absl::Status check_monitored(absl::string_view where, absl::string_view metric) const;

  // Checks that a report of training or an evaluation gives `metric`, without the name of a set,
  // which is configured at `where`. Errors: InvalidArgument naming the nearest, or all of them.
  absl::Status check_shown(absl::string_view where, absl::string_view metric) const;

 private:
  explicit MetricNames(const JobConfig& config) : config_(config) {}

  std::vector<std::string> metrics_of(absl::string_view source) const;
  // Adds to `names` those that spans, and slices, give for `metrics`.
  void add_spans(const std::vector<std::string>& metrics, std::vector<std::string>& names) const;
  void add_slices(const std::vector<std::string>& metrics, std::vector<std::string>& names) const;
  std::string describe(const std::vector<std::string>& sources) const;
  // The cadence of evaluations at fixed points, and of reports.
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
