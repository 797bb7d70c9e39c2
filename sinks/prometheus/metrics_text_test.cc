#include "sinks/prometheus/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

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
  metrics.start(180, absl::UnixEpoch());
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

// Returns the text of the page after a name and its labels.
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
  metrics.start(0, absl::UnixEpoch());
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

// A falling counter means for Prometheus a new start at 0. If the counter fell to the total of a
// checkpoint, increase() would count the whole total as new steps.
TEST(PrometheusMetricsTest, CountersOfAResumedRunBeginAt0) {
  PrometheusMetrics metrics;
  metrics.start(1'000'000, absl::UnixEpoch());
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
  metrics.start(1'000'010, absl::UnixEpoch());
  metrics.add(report_of(1'000'020, 702), absl::UnixEpoch());
  EXPECT_EQ(sample(metrics, "millrace_steps_total"), "30");
  EXPECT_EQ(sample(metrics, "millrace_skipped_steps_total"), "3");
  EXPECT_EQ(sample(metrics, "millrace_progress_steps"), "1000020");
}

// The checkpoint of a run was made between two reports: the first report has 10 steps, of which 4
// were applied before it.
TEST(PrometheusMetricsTest, CountersOmitFiguresThatBelongToAnEarlierProcess) {
  PrometheusMetrics metrics;
  metrics.start(104, absl::UnixEpoch());
  Report report = report_of(110, 0);
  report.tables["items"] = {.inserted = 5, .evicted = {{"lru", 2}}, .unadmitted = 3};
  report.process.bytes_read = 300;
  metrics.add(report, absl::UnixEpoch());
  EXPECT_EQ(sample(metrics, "millrace_steps_total"), "6");
  EXPECT_EQ(sample(metrics, "millrace_examples_total"), "0");
  EXPECT_EQ(sample(metrics, "millrace_read_bytes_total"), "300") << "of this process alone";
  const std::vector<std::string> of_tables = {
      "millrace_table_inserted_total{table=\"items\"}",
      "millrace_table_unadmitted_total{table=\"items\"}",
      "millrace_table_evicted_total{table=\"items\",reason=\"lru\"}"};
  for (const std::string& name : of_tables) EXPECT_EQ(sample(metrics, name), "0") << name;
  report.progress.step = 120;
  metrics.add(report, absl::UnixEpoch());
  EXPECT_EQ(sample(metrics, "millrace_steps_total"), "16");
  EXPECT_EQ(sample(metrics, "millrace_examples_total"), "1000");
  EXPECT_EQ(sample(metrics, of_tables[0]), "5");
  EXPECT_EQ(sample(metrics, of_tables[1]), "3");
  EXPECT_EQ(sample(metrics, of_tables[2]), "2");
}

TEST(PrometheusMetricsTest, CountersOfTablesAddUp) {
  PrometheusMetrics metrics;
  Report next = report();
  metrics.add(next, absl::UnixEpoch());
  next.progress.step += next.steps;
  metrics.add(next, absl::UnixEpoch());
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

// Returns the names and labels of the samples on the page.
std::vector<std::string> names_on(const PrometheusMetrics& metrics) {
  std::vector<std::string> names;
  for (const absl::string_view line : absl::StrSplit(metrics.text(), '\n', absl::SkipEmpty())) {
    if (line[0] != '#') names.emplace_back(line.substr(0, line.rfind(' ')));
  }
  return names;
}

// The names that rules and dashboards use.
TEST(PrometheusMetricsTest, NamesOfAllFigures) {
  PrometheusMetrics metrics;
  metrics.start(0, absl::UnixEpoch());
  Report report;
  report.tables["items"].evicted = {{"lru", 2}};
  report.ranks.emplace();
  metrics.add(report, absl::UnixEpoch());
  EvaluationResult result;
  result.set = "eval";
  metrics.add(result);
  EXPECT_THAT(
      names_on(metrics),
      ElementsAre(
          "millrace_bytes_per_second", "millrace_cpu_cores", "millrace_data_wait_ratio",
          "millrace_epoch", "millrace_evaluated_examples{set=\"eval\"}",
          "millrace_evaluated_step{set=\"eval\"}", "millrace_evaluation_seconds{set=\"eval\"}",
          "millrace_examples_per_second", "millrace_examples_total",
          "millrace_last_report_timestamp_seconds", "millrace_page_faults_total{kind=\"major\"}",
          "millrace_page_faults_total{kind=\"minor\"}", "millrace_progress_examples",
          "millrace_progress_seconds", "millrace_progress_skipped_steps", "millrace_progress_steps",
          "millrace_rank_bytes_per_step{kind=\"ids\"}",
          "millrace_rank_bytes_per_step{kind=\"rows\"}",
          "millrace_rank_bytes_per_step{kind=\"sums\"}", "millrace_rank_owner_imbalance_ratio",
          "millrace_rank_waiting_ratio{for=\"gradients\"}",
          "millrace_rank_waiting_ratio{for=\"other_ranks\"}",
          "millrace_rank_waiting_ratio{for=\"owners\"}",
          "millrace_rank_waiting_ratio{for=\"transfer\"}", "millrace_read_bytes_total",
          "millrace_resident_memory_bytes", "millrace_rows_per_second",
          "millrace_skipped_steps_total", "millrace_start_timestamp_seconds",
          "millrace_steps_total", "millrace_table_bytes{table=\"items\"}",
          "millrace_table_candidates{table=\"items\"}",
          "millrace_table_evicted_total{table=\"items\",reason=\"lru\"}",
          "millrace_table_hottest_ratio{table=\"items\"}",
          "millrace_table_inserted_total{table=\"items\"}",
          "millrace_table_load_ratio{table=\"items\"}", "millrace_table_rows{table=\"items\"}",
          "millrace_table_unadmitted_total{table=\"items\"}",
          "millrace_table_unique_ratio{table=\"items\"}",
          "millrace_table_unknown_ratio{table=\"items\"}", "millrace_training_seconds_total",
          "millrace_window"));
}

TEST(PrometheusMetricsTest, GaugesAreThoseOfTheLastReportAndOfTheLastEvaluationOfEachSet) {
  PrometheusMetrics metrics;
  metrics.start(0, absl::UnixEpoch());
  Report of_slice = report_of(10, 0);
  of_slice.metrics = {{"loss", 0.5}, {"country=7/auc", 0.75}};
  of_slice.values = {{"rare", 1}};
  of_slice.tables["items"] = {.inserted = 5};
  metrics.add(of_slice, absl::UnixEpoch());
  for (const char* set : {"a", "b"}) {
    EvaluationResult result;
    result.set = set;
    result.metrics = {{"country=7/auc", 0.75}};
    result.values = {{"rare", 1}};
    metrics.add(result);
  }
  Report other = report_of(20, 0);
  other.metrics = {{"loss", 0.25}, {"country=8/auc", 0.5}};
  metrics.add(other, absl::UnixEpoch());
  EvaluationResult later;
  later.set = "a";
  later.metrics = {{"country=8/auc", 0.5}};
  metrics.add(later);

  const std::vector<std::string> names = names_on(metrics);
  for (const char* name :
       {"millrace_metric{set=\"train\",metric=\"country=7/auc\"}",
        "millrace_value{set=\"train\",name=\"rare\"}", "millrace_table_rows{table=\"items\"}",
        "millrace_metric{set=\"a\",metric=\"country=7/auc\"}",
        "millrace_value{set=\"a\",name=\"rare\"}"}) {
    EXPECT_THAT(names, Not(Contains(name)));
  }
  EXPECT_THAT(names, IsSupersetOf({"millrace_metric{set=\"train\",metric=\"country=8/auc\"}",
                                   "millrace_metric{set=\"a\",metric=\"country=8/auc\"}",
                                   "millrace_metric{set=\"b\",metric=\"country=7/auc\"}",
                                   "millrace_value{set=\"b\",name=\"rare\"}"}));
  EXPECT_EQ(sample(metrics, "millrace_table_inserted_total{table=\"items\"}"), "5")
      << "counters stay";
}

TEST(PrometheusMetricsTest, BeforeTheFirstReportOfARunThereIsItsStart) {
  PrometheusMetrics metrics;
  EXPECT_EQ(metrics.text(), "");
  metrics.start(0, absl::FromUnixSeconds(1000));
  EXPECT_THAT(names_on(metrics), ElementsAre("millrace_start_timestamp_seconds"));
  EXPECT_EQ(sample(metrics, "millrace_start_timestamp_seconds"), "1000");
  metrics.add(report_of(10, 0), absl::FromUnixSeconds(1500));
  EXPECT_EQ(sample(metrics, "millrace_start_timestamp_seconds"), "1000");
  EXPECT_EQ(sample(metrics, "millrace_last_report_timestamp_seconds"), "1500");
  metrics.start(5, absl::FromUnixSeconds(2000));
  EXPECT_EQ(sample(metrics, "millrace_start_timestamp_seconds"), "2000");
  EXPECT_THAT(names_on(metrics), Not(Contains("millrace_last_report_timestamp_seconds")));
}

}  // namespace
}  // namespace millrace
