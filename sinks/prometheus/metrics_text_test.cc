#include "sinks/prometheus/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace millrace {
namespace {

using ::testing::HasSubstr;

Report report() {
  Report report;
  report.progress = {.step = 200, .examples = 10000, .elapsed = absl::Milliseconds(1500)};
  report.metrics = {{"loss", 0.25}, {"auc", std::numeric_limits<double>::quiet_NaN()}};
  report.tables["items"] = {.rows = 7, .inserted = 5, .evicted = {{"lru", 2}}};
  report.process = {.cores = 1.5, .resident_bytes = 4096, .major_faults = 2, .bytes_read = 300};
  return report;
}

TEST(PrometheusMetricsTest, NamesUnitsAndValues) {
  PrometheusMetrics metrics;
  metrics.add(report(), absl::FromUnixSeconds(1700000000));
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("# HELP millrace_steps_total Updates applied, over all resumes.\n"
                              "# TYPE millrace_steps_total counter\nmillrace_steps_total 200\n"));
  EXPECT_THAT(text, HasSubstr("millrace_training_seconds_total 1.5\n"));
  EXPECT_THAT(text, HasSubstr("millrace_last_report_timestamp_seconds 1.7e+09\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE millrace_metric gauge\n"
                              "millrace_metric{set=\"train\",metric=\"auc\"} NaN\n"
                              "millrace_metric{set=\"train\",metric=\"loss\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("millrace_table_rows{table=\"items\"} 7\n"));
}

TEST(PrometheusMetricsTest, CountersOfTablesAddUp) {
  PrometheusMetrics metrics;
  metrics.add(report(), absl::UnixEpoch());
  metrics.add(report(), absl::UnixEpoch());
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_table_inserted_total{table=\"items\"} 10\n"));
  EXPECT_THAT(metrics.text(),
              HasSubstr("millrace_table_evicted_total{table=\"items\",reason=\"lru\"} 4\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_page_faults_total{kind=\"major\"} 4\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_read_bytes_total 600\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_resident_memory_bytes 4096\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_cpu_cores 1.5\n"));
}

TEST(PrometheusMetricsTest, EvaluationsHaveTheirSet) {
  PrometheusMetrics metrics;
  EvaluationResult result;
  result.set = "eval";
  result.progress.step = 7;
  result.metrics = {{"auc", 0.75}};
  metrics.add(result);
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_metric{set=\"eval\",metric=\"auc\"} 0.75\n"));
  EXPECT_THAT(metrics.text(), HasSubstr("millrace_evaluated_step{set=\"eval\"} 7\n"));
}

TEST(PrometheusMetricsTest, LabelsAreEscaped) {
  EXPECT_EQ(prometheus_label("metric", "a\\b\"c\nd"), "metric=\"a\\\\b\\\"c\\nd\"");
}

}  // namespace
}  // namespace millrace
