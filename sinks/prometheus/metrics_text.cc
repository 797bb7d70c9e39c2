#include "sinks/prometheus/metrics_text.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

constexpr auto kGauge = MetricFamily::Type::kGauge;
constexpr auto kCounter = MetricFamily::Type::kCounter;

constexpr MetricFamily kSteps = {"millrace_steps_total", kCounter,
                                 "Updates applied since the process started."};
constexpr MetricFamily kExamples = {"millrace_examples_total", kCounter,
                                    "Examples of these updates, of all ranks."};
constexpr MetricFamily kSkippedSteps = {"millrace_skipped_steps_total", kCounter,
                                        "Steps refused as non-finite since the process started."};
constexpr MetricFamily kTrainingSeconds = {"millrace_training_seconds_total", kCounter,
                                           "Time spent training since the process started."};
constexpr MetricFamily kStart = {"millrace_start_timestamp_seconds", kGauge,
                                 "Time when the run started."};
constexpr MetricFamily kLastReport = {"millrace_last_report_timestamp_seconds", kGauge,
                                      "Time of the last report of training."};
constexpr MetricFamily kMetric = {"millrace_metric", kGauge,
                                  "Metrics of training (set=\"train\") and of evaluations."};
constexpr MetricFamily kValue = {"millrace_value", kGauge,
                                 "Values that hooks and the model reported."};
constexpr MetricFamily kLearningRate = {"millrace_learning_rate", kGauge,
                                        "Learning rate of the next step."};
constexpr MetricFamily kEvicted = {"millrace_table_evicted_total", kCounter, "Rows evicted."};
constexpr MetricFamily kEvaluatedStep = {"millrace_evaluated_step", kGauge,
                                         "Step of the last evaluation."};
constexpr MetricFamily kEvaluatedUnknown = {
    "millrace_evaluated_unknown_ratio", kGauge,
    "Share of a table's lookups in the last evaluation whose ids have no row."};

std::string joined(const std::string& labels, const std::string& more) {
  return absl::StrCat(labels, labels.empty() || more.empty() ? "" : ",", more);
}

double seconds_of_day(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

// `part`: a report or an evaluation. `set`: the label.
template <typename Part>
void add_metrics(const Part& part, const std::string& set, MetricsPage& gauges) {
  for (const auto& [name, value] : part.metrics) {
    gauges.set(kMetric, joined(set, prometheus_label("metric", name)), value);
  }
  for (const auto& [name, value] : part.values) {
    gauges.set(kValue, joined(set, prometheus_label("name", name)), value);
  }
}

}  // namespace

template <typename Part>
void PrometheusMetrics::add_figures(absl::Span<const Figure<Part>> figures, const Part& part,
                                    const std::string& labels, bool counts, MetricsPage& gauges) {
  for (const Figure<Part>& figure : figures) {
    const std::string all = joined(labels, figure.label);
    const double value = number_of(figure, part);
    if (figure.family.type == kCounter) {
      counters_.add(figure.family, all, counts ? value : 0);
    } else {
      gauges.set(figure.family, all, value);
    }
  }
}

void PrometheusMetrics::start(int64_t first_step, absl::Time now) {
  last_ = {.step = first_step};
  only_step_ = first_step > 0;
  report_ = MetricsPage();
  run_.set(kStart, "", seconds_of_day(now));
}

bool PrometheusMetrics::add_counters(const Report& report) {
  const Progress& now = report.progress;
  const int64_t steps = std::max<int64_t>(0, now.step - last_.step);
  const bool whole = report.steps <= steps;
  // The other totals at the start of a run that resumes are unknown.
  if (std::exchange(only_step_, false)) last_ = now;
  const Progress last = std::exchange(last_, now);
  counters_.add(kSteps, "", static_cast<double>(steps));
  counters_.add(kExamples, "", whole ? static_cast<double>(report.examples) : 0);
  counters_.add(kSkippedSteps, "",
                static_cast<double>(std::max<int64_t>(0, now.skipped_steps - last.skipped_steps)));
  counters_.add(kTrainingSeconds, "",
                std::max(0.0, absl::ToDoubleSeconds(now.elapsed - last.elapsed)));
  return whole;
}

void PrometheusMetrics::add_table(const std::string& name, const TableReport& table, bool counts) {
  const std::string label = prometheus_label("table", name);
  add_figures(kTableFigures, table, label, counts, report_);
  for (const auto& [reason, rows] : table.evicted) {
    counters_.add(kEvicted, joined(label, prometheus_label("reason", reason)),
                  counts ? static_cast<double>(rows) : 0);
  }
}

void PrometheusMetrics::add(const Report& report, absl::Time now) {
  const bool whole = add_counters(report);
  report_ = MetricsPage();
  report_.set(kLastReport, "", seconds_of_day(now));
  add_figures(kProgressFigures, report.progress, "", true, report_);
  add_figures(kRateFigures, report, "", true, report_);
  add_metrics(report, prometheus_label("set", "train"), report_);
  for (const auto& [name, value] : report.learning_rates) {
    report_.set(kLearningRate, prometheus_label("optimizer", name), value);
  }
  for (const auto& [name, table] : report.tables) add_table(name, table, whole);
  if (report.ranks.has_value()) add_figures(kRankFigures, *report.ranks, "", true, report_);
  // Processes count since they started.
  add_figures(kProcessFigures, report.process, "", true, report_);
}

void PrometheusMetrics::add(const EvaluationResult& result) {
  const std::string set = prometheus_label("set", result.set);
  MetricsPage& gauges = evaluations_[result.set] = MetricsPage();
  add_metrics(result, set, gauges);
  add_figures(kEvaluationFigures, result, set, true, gauges);
  for (const auto& [table, share] : result.unknown_shares) {
    gauges.set(kEvaluatedUnknown, absl::StrCat(set, ",", prometheus_label("table", table)), share);
  }
  gauges.set(kEvaluatedStep, set, static_cast<double>(result.progress.step));
}

std::string PrometheusMetrics::text() const {
  MetricsPage page = counters_;
  page.merge(run_);
  page.merge(report_);
  for (const auto& [set, gauges] : evaluations_) page.merge(gauges);
  return page.text();
}

}  // namespace millrace
