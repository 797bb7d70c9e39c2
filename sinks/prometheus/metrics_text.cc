#include "sinks/prometheus/metrics_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sinks/number_text.h"
#include "sinks/valid_utf8.h"

namespace millrace {
namespace {

constexpr char kGauge[] = "gauge";
constexpr char kCounter[] = "counter";
constexpr char kMetric[] = "millrace_metric";
constexpr char kMetricHelp[] = "Metrics of training (set=\"train\") and of evaluations.";
constexpr char kValue[] = "millrace_value";
constexpr char kValueHelp[] = "Values that hooks and the model reported.";
constexpr char kTrain[] = "train";

std::string number(double value) { return number_text(value, {"NaN", "+Inf", "-Inf"}); }

std::string labels(const std::string& name, const std::string& value) {
  return absl::StrCat("{", prometheus_label(name, value), "}");
}

std::string labels(const std::string& name, const std::string& value, const std::string& name2,
                   const std::string& value2) {
  return absl::StrCat("{", prometheus_label(name, value), ",", prometheus_label(name2, value2),
                      "}");
}

}  // namespace

std::string prometheus_label(const std::string& name, const std::string& value) {
  return absl::StrCat(
      name, "=\"",
      absl::StrReplaceAll(valid_utf8(value), {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}),
      "\"");
}

void PrometheusMetrics::set(const std::string& family, const char* type, const char* help,
                            const std::string& labels, double value) {
  families_.try_emplace(family, Family{type, help, {}}).first->second.samples[labels] = value;
}

void PrometheusMetrics::count(const std::string& family, const char* help,
                              const std::string& labels, double more) {
  families_.try_emplace(family, Family{kCounter, help, {}}).first->second.samples[labels] += more;
}

void PrometheusMetrics::start(int64_t first_step) {
  // A run that resumes does not know its progress before the first report.
  last_ = first_step == 0 ? std::optional(Progress{}) : std::nullopt;
}

void PrometheusMetrics::add_progress(const Report& report) {
  const Progress& now = report.progress;
  const Progress last = std::exchange(last_, now).value_or(now);
  count("millrace_steps_total", "Updates applied since the process started.", "",
        static_cast<double>(report.steps));
  count("millrace_examples_total", "Examples of these updates, of all ranks.", "",
        static_cast<double>(report.examples));
  count("millrace_skipped_steps_total", "Steps refused as non-finite since the process started.",
        "", static_cast<double>(std::max<int64_t>(0, now.skipped_steps - last.skipped_steps)));
  count("millrace_training_seconds_total", "Time spent training since the process started.", "",
        std::max(0.0, absl::ToDoubleSeconds(now.elapsed - last.elapsed)));
  set("millrace_progress_steps", kGauge, "Updates applied, over all resumes.", "",
      static_cast<double>(now.step));
  set("millrace_progress_examples", kGauge, "Examples of all ranks, over all resumes.", "",
      static_cast<double>(now.examples));
  set("millrace_progress_skipped_steps", kGauge, "Steps refused, over all resumes.", "",
      static_cast<double>(now.skipped_steps));
  set("millrace_progress_seconds", kGauge, "Time spent training, over all resumes.", "",
      absl::ToDoubleSeconds(now.elapsed));
  set("millrace_epoch", kGauge, "Epochs finished.", "", static_cast<double>(now.epoch));
  set("millrace_window", kGauge, "Windows finished.", "", static_cast<double>(now.window));
}

void PrometheusMetrics::add(const Report& report, absl::Time now) {
  add_progress(report);
  set("millrace_examples_per_second", kGauge, "Examples per second since the report before.", "",
      report.examples_per_second);
  set("millrace_data_wait_ratio", kGauge, "Share of the time in which training waited for data.",
      "", report.data_wait_share);
  set("millrace_last_report_timestamp_seconds", kGauge, "Time of the last report of training.", "",
      absl::ToDoubleSeconds(now - absl::UnixEpoch()));
  for (const auto& [name, value] : report.metrics) {
    set(kMetric, kGauge, kMetricHelp, labels("set", kTrain, "metric", name), value);
  }
  for (const auto& [name, value] : report.values) {
    set(kValue, kGauge, kValueHelp, labels("set", kTrain, "name", name), value);
  }
  for (const auto& [name, value] : report.learning_rates) {
    set("millrace_learning_rate", kGauge, "Learning rate of the next step.",
        labels("optimizer", name), value);
  }
  for (const auto& [name, table] : report.tables) add_table(name, table);
  if (report.ranks.has_value()) add_ranks(*report.ranks);
  add_process(report.process);
}

void PrometheusMetrics::add_process(const ProcessReport& process) {
  set("millrace_cpu_cores", kGauge, "CPU time for each second, of all ranks.", "", process.cores);
  set("millrace_resident_memory_bytes", kGauge, "Resident memory of all ranks.", "",
      static_cast<double>(process.resident_bytes));
  const auto faults = [&](const char* kind, int64_t number) {
    count("millrace_page_faults_total", "Page faults; major ones read from a disk.",
          labels("kind", kind), static_cast<double>(number));
  };
  faults("major", process.major_faults);
  faults("minor", process.minor_faults);
  count("millrace_read_bytes_total", "Bytes read from files, also from the page cache.", "",
        static_cast<double>(process.bytes_read));
}

void PrometheusMetrics::add_table(const std::string& name, const TableReport& table) {
  const std::string own = labels("table", name);
  set("millrace_table_rows", kGauge, "Rows of an embedding table.", own,
      static_cast<double>(table.rows));
  set("millrace_table_bytes", kGauge, "Memory of an embedding table.", own,
      static_cast<double>(table.bytes));
  set("millrace_table_load_ratio", kGauge, "Share of the id map's entries in use.", own,
      table.load);
  set("millrace_table_unique_ratio", kGauge, "Distinct ids over ids looked up, in a step.", own,
      table.unique_share);
  set("millrace_table_hottest_ratio", kGauge, "Share of the most frequent id of a step.", own,
      table.hottest_share);
  count("millrace_table_inserted_total", "Rows inserted.", own,
        static_cast<double>(table.inserted));
  count("millrace_table_unadmitted_total", "Lookups of ids without a row.", own,
        static_cast<double>(table.unadmitted));
  for (const auto& [reason, rows] : table.evicted) {
    count("millrace_table_evicted_total", "Rows evicted.", labels("table", name, "reason", reason),
          static_cast<double>(rows));
  }
}

void PrometheusMetrics::add_ranks(const RankReport& ranks) {
  const auto waiting = [&](const char* what, double share) {
    set("millrace_rank_waiting_ratio", kGauge, "Share of the time in which a rank waited.",
        labels("for", what), share);
  };
  waiting("other_ranks", ranks.other_ranks_share);
  waiting("owners", ranks.owners_share);
  waiting("gradients", ranks.gradients_share);
  waiting("transfer", ranks.transfer_share);
  const auto bytes = [&](const char* kind, double sent) {
    set("millrace_rank_bytes_per_step", kGauge, "Bytes that a rank sent in a step for tables.",
        labels("kind", kind), sent);
  };
  bytes("ids", ranks.ids_bytes);
  bytes("rows", ranks.rows_bytes);
  bytes("sums", ranks.sums_bytes);
}

void PrometheusMetrics::add(const EvaluationResult& result) {
  for (const auto& [name, value] : result.metrics) {
    set(kMetric, kGauge, kMetricHelp, labels("set", result.set, "metric", name), value);
  }
  for (const auto& [name, value] : result.values) {
    set(kValue, kGauge, kValueHelp, labels("set", result.set, "name", name), value);
  }
  set("millrace_evaluated_step", kGauge, "Step of the last evaluation.", labels("set", result.set),
      static_cast<double>(result.progress.step));
}

std::string PrometheusMetrics::text() const {
  std::string text;
  for (const auto& [name, family] : families_) {
    absl::StrAppend(&text, "# HELP ", name, " ", family.help, "\n# TYPE ", name, " ", family.type,
                    "\n");
    for (const auto& [labels, value] : family.samples) {
      absl::StrAppend(&text, name, labels, " ", number(value), "\n");
    }
  }
  return text;
}

}  // namespace millrace
