// Numbers of a job in the text format of Prometheus.
#ifndef MILLRACE_SINKS_PROMETHEUS_METRICS_TEXT_H_
#define MILLRACE_SINKS_PROMETHEUS_METRICS_TEXT_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"
#include "absl/types/span.h"
#include "framework/report/report_figures.h"
#include "hook/events.h"
#include "sinks/prometheus/metrics_page.h"

namespace millrace {

// The latest numbers of a job, as the text exposition format 0.0.4 of Prometheus has them. Names
// and units follow https://prometheus.io/docs/practices/naming: base units, `_total` for counters.
// docs/sinks.md lists the names: the families of the figures of report_figures.h, with the label
// `table` or `set` for figures of tables and sets, and
//
//   millrace_steps_total, millrace_examples_total, millrace_skipped_steps_total,
//   millrace_training_seconds_total
//   millrace_start_timestamp_seconds, millrace_last_report_timestamp_seconds
//   millrace_metric{set="train",metric="loss"}, millrace_value{set="train",name="margin"}
//   millrace_learning_rate{optimizer="dense"}
//   millrace_table_evicted_total{table="items",reason="lru"}
//   millrace_evaluated_step{set="eval"}
//
// Gauges have the numbers of the last report of the run, and of the last evaluation of each set: a
// name without a number has no sample. Progress is over all resumes. Counters count since this
// object was made, so a process that resumes an earlier checkpoint shows Prometheus a reset to 0.
// Not thread-safe.
class PrometheusMetrics {
 public:
  // Begins a run after `first_step` steps; removes the gauges of the last report. A resumed run
  // cannot divide figures between processes, so counters omit a part: refused steps and time before
  // its first report, and examples and figures of tables of a first report that covers steps up to
  // `first_step`. `now`: the time of day.
  void start(int64_t first_step, absl::Time now);
  void add(const Report& report, absl::Time now);
  void add(const EvaluationResult& result);

  // Returns the page; only what was added has samples.
  std::string text() const;

 private:
  // If `counts` is false, counters are made without a change.
  template <typename Part>
  void add_figures(absl::Span<const Figure<Part>> figures, const Part& part,
                   const std::string& labels, bool counts, MetricsPage& gauges);
  // Returns true if all steps of the report belong to this run.
  bool add_counters(const Report& report);
  void add_table(const std::string& name, const TableReport& table, bool counts);

  MetricsPage run_;                                 // gauges of the run
  MetricsPage counters_;                            // since this object was made
  MetricsPage report_;                              // gauges of the last report
  std::map<std::string, MetricsPage> evaluations_;  // set → gauges of its last evaluation
  Progress last_;           // at the last report; before the first one of a run, at its start
  bool only_step_ = false;  // last_ has only the step
};

}  // namespace millrace

#endif  // MILLRACE_SINKS_PROMETHEUS_METRICS_TEXT_H_
