#include "sinks/prometheus/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace millrace {
namespace {

using ::testing::HasSubstr;

Report report() {
  Report report;
  report.progress = {.step = 200, .examples = 10000, .elapsed = absl::Milliseconds(1500)};
  report.steps = 20;
  report.examples = 1000;
  report.metrics = {{"loss", 0.25}, {"auc", std::numeric_limits<double>::quiet_NaN()}};
  report.tables["items"] = {.rows = 7, .inserted = 5, .evicted = {{"lru", 2}}};
  report.process = {.cores = 1.5, .resident_bytes = 4096, .major_faults = 2, .bytes_read = 300};
  return report;
}

TEST(PrometheusMetricsTest, NamesUnitsAndValues) {
  PrometheusMetrics metrics;
  metrics.add(report(), absl::FromUnixSeconds(1700000000));
  const std::string text = metrics.text();
  EXPECT_THAT(text,
              HasSubstr("# HELP millrace_progress_steps Updates applied, over all resumes.\n"
                        "# TYPE millrace_progress_steps gauge\nmillrace_progress_steps 200\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE millrace_steps_total counter\nmillrace_steps_total 20\n"));
  EXPECT_THAT(text, HasSubstr("millrace_progress_seconds 1.5\n"));
  EXPECT_THAT(text, HasSubstr("millrace_last_report_timestamp_seconds 1.7e+09\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE millrace_metric gauge\n"
                              "millrace_metric{set=\"train\",metric=\"auc\"} NaN\n"
                              "millrace_metric{set=\"train\",metric=\"loss\"} 0.25\n"));
  EXPECT_THAT(text, HasSubstr("millrace_table_rows{table=\"items\"} 7\n"));
}

// Returns what the page has after a name and its labels.
std::string sample(const PrometheusMetrics& metrics, const std::string& name) {
  const std::string text = metrics.text();
  const size_t found = text.find("\n" + name + " ");
  if (found == text.npos) return "";
  const size_t begin = found + name.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

Report report_of(int64_t step, int64_t skipped) {
  Report report;
  report.progress = {.step = step,
                     .examples = step * 100,
                     .skipped_steps = skipped,
                     .elapsed = absl::Seconds(step)};
  report.steps = 10;
  report.examples = 1000;
  return report;
}

TEST(PrometheusMetricsTest, CountersOfANewRunEqualTheTotals) {
  PrometheusMetrics metrics;
  metrics.start(0);
  metrics.add(report_of(10, 2), absl::UnixEpoch());
  metrics.add(report_of(20, 5), absl::UnixEpoch());
  for (const char* name : {"millrace_steps_total", "millrace_progress_steps"}) {
    EXPECT_EQ(sample(metrics, name), "20") << name;
  }
  for (const char* name : {"millrace_skipped_steps_total", "millrace_progress_skipped_steps"}) {
    EXPECT_EQ(sample(metrics, name), "5") << name;
  }
  EXPECT_EQ(sample(metrics, "millrace_examples_total"), "2000");
  EXPECT_EQ(sample(metrics, "millrace_training_seconds_total"), "20");
}

// Prometheus takes a counter that falls for one that began at 0 again. If the counter fell to the
// total of a checkpoint, increase() would count the whole total as new steps.
TEST(PrometheusMetricsTest, CountersOfAResumedRunBeginAt0) {
  PrometheusMetrics metrics;
  metrics.start(1'000'000);
  metrics.add(report_of(1'000'010, 700), absl::UnixEpoch());
  EXPECT_EQ(sample(metrics, "millrace_steps_total"), "10");
  EXPECT_EQ(sample(metrics, "millrace_examples_total"), "1000");
  EXPECT_EQ(sample(metrics, "millrace_skipped_steps_total"), "0");
  EXPECT_EQ(sample(metrics, "millrace_training_seconds_total"), "0");
  EXPECT_EQ(sample(metrics, "millrace_progress_steps"), "1000010");
  EXPECT_EQ(sample(metrics, "millrace_progress_examples"), "100001000");
  EXPECT_EQ(sample(metrics, "millrace_progress_skipped_steps"), "700");
  metrics.add(report_of(1'000'020, 703), absl::UnixEpoch());
  EXPECT_EQ(sample(metrics, "millrace_steps_total"), "20");
  EXPECT_EQ(sample(metrics, "millrace_skipped_steps_total"), "3");
  EXPECT_EQ(sample(metrics, "millrace_training_seconds_total"), "10");
  // Another run of the same process goes back to a checkpoint; its counters do not.
  metrics.start(1'000'010);
  metrics.add(report_of(1'000'020, 702), absl::UnixEpoch());
  EXPECT_EQ(sample(metrics, "millrace_steps_total"), "30");
  EXPECT_EQ(sample(metrics, "millrace_skipped_steps_total"), "3");
  EXPECT_EQ(sample(metrics, "millrace_progress_steps"), "1000020");
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
