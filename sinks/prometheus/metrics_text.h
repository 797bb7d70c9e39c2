// Numbers in the text format of Prometheus.
#ifndef MILLRACE_SINKS_PROMETHEUS_METRICS_TEXT_H_
#define MILLRACE_SINKS_PROMETHEUS_METRICS_TEXT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "framework/events.h"

namespace millrace {

// The latest numbers of a job, as the text exposition format 0.0.4 of Prometheus has them. Names
// and units follow https://prometheus.io/docs/practices/naming: base units, `_total` for counters.
//
//   millrace_steps_total, millrace_examples_total, millrace_skipped_steps_total,
//   millrace_training_seconds_total
//   millrace_progress_steps, millrace_progress_examples, millrace_progress_skipped_steps,
//   millrace_progress_seconds, millrace_epoch, millrace_window
//   millrace_examples_per_second, millrace_data_wait_ratio, millrace_last_report_timestamp_seconds
//   millrace_metric{set="train",metric="loss"}, millrace_value{set="train",name="margin"}
//   millrace_learning_rate{optimizer="dense"}
//   millrace_table_rows{table="items"}, millrace_table_bytes, millrace_table_load_ratio,
//   millrace_table_unique_ratio, millrace_table_hottest_ratio, millrace_table_inserted_total,
//   millrace_table_evicted_total{table="items",reason="lru"}, millrace_table_unadmitted_total
//   millrace_evaluated_step{set="eval"}
//   millrace_rank_waiting_ratio{for="owners"}, millrace_rank_bytes_per_step{kind="rows"}
//
// Counters count since this object was made, so that Prometheus sees a reset to 0 when a process
// resumes an earlier checkpoint. Gauges have the totals over all resumes. Not thread-safe.
class PrometheusMetrics {
 public:
  // Begins a run after `first_step` steps. Of a run that resumes, the counters of refused steps and
  // of time begin with the first report.
  void start(int64_t first_step);
  // `now`: the time of day.
  void add(const Report& report, absl::Time now);
  void add(const EvaluationResult& result);

  // Returns the page; only what was added has samples.
  std::string text() const;

 private:
  // Label set, in braces, or "" → value.
  struct Family {
    const char* type;
    const char* help;
    std::map<std::string, double> samples;
  };

  void set(const std::string& family, const char* type, const char* help, const std::string& labels,
           double value);
  void count(const std::string& family, const char* help, const std::string& labels, double more);
  void add_progress(const Report& report);
  void add_table(const std::string& name, const TableReport& table);
  void add_ranks(const RankReport& ranks);
  void add_process(const ProcessReport& process);

  std::map<std::string, Family> families_;
  std::optional<Progress> last_;  // of the last report of this run
};

// Returns `name="value"` with the value escaped: backslash, quote and line feed.
std::string prometheus_label(const std::string& name, const std::string& value);

}  // namespace millrace

#endif  // MILLRACE_SINKS_PROMETHEUS_METRICS_TEXT_H_
