#include "framework/report/report_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_matchers.h"
#include "framework/report/numbered_reports_testing.h"

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ReportRowsTest, Reports) {
  Report report;
  report.examples_per_second = 100;
  report.rows_per_second = 300;
  report.bytes_per_second = 5000;
  report.data_wait_share = 0.25;
  report.metrics = {{"loss", 0.5}, {"auc", 0.75}};
  report.values = {{"margin", 2}};
  report.learning_rates = {{"dense", 0.001}};
  report.process = {.cores = 1.5, .resident_bytes = 4096};
  EXPECT_THAT(values_of(report),
              ElementsAre(Pair("examples_per_second", 100), Pair("rows_per_second", 300),
                          Pair("bytes_per_second", 5000), Pair("data_wait_share", 0.25),
                          Pair("auc", 0.75), Pair("loss", 0.5), Pair("values/margin", 2),
                          Pair("learning_rate/dense", 0.001), Pair("process/bytes_read", 0),
                          Pair("process/cores", 1.5), Pair("process/major_faults", 0),
                          Pair("process/minor_faults", 0), Pair("process/resident_bytes", 4096)));
}

TEST(ReportRowsTest, TablesAndRanks) {
  Report report;
  report.tables["items"] = {.rows = 7, .evicted = {{"lru", 3}}};
  report.ranks = RankReport{.owners_share = 0.5};
  const NamedNumbers numbers = values_of(report);
  EXPECT_THAT(numbers, Contains(Pair("table/items/rows", 7)));
  EXPECT_THAT(numbers, Contains(Pair("table/items/evicted/lru", 3)));
  EXPECT_THAT(numbers, Contains(Pair("ranks/owners_share", 0.5)));
  std::vector<std::string> names;
  for (const auto& [name, value] : numbers) names.push_back(name);
  EXPECT_THAT(
      names,
      ElementsAre("examples_per_second", "rows_per_second", "bytes_per_second", "data_wait_share",
                  "table/items/rows", "table/items/bytes", "table/items/load",
                  "table/items/candidates", "table/items/inserted", "table/items/unadmitted",
                  "table/items/unique_share", "table/items/hottest_share",
                  "table/items/unknown_share", "table/items/evicted/lru", "ranks/gradients_share",
                  "ranks/ids_bytes", "ranks/other_ranks_share", "ranks/owner_imbalance",
                  "ranks/owners_share", "ranks/rows_bytes", "ranks/sums_bytes",
                  "ranks/transfer_share", "process/bytes_read", "process/cores",
                  "process/major_faults", "process/minor_faults", "process/resident_bytes"));
}

TEST(ReportRowsTest, Evaluations) {
  EvaluationResult result;
  result.examples = 10;
  result.elapsed = absl::Milliseconds(500);
  result.metrics = {{"auc", 0.75}};
  result.unknown_shares = {{"items", 0.25}};
  EXPECT_THAT(values_of(result),
              ElementsAre(Pair("evaluation_seconds", 0.5), Pair("evaluated_examples", 10),
                          Pair("auc", 0.75), Pair("table/items/unknown_share", 0.25)));
}

// Texts of the numbers, of which not-a-number equals itself.
std::vector<std::string> texts(const NamedNumbers& numbers) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : numbers)
    texts.push_back(absl::StrFormat("%s %.17g", name, value));
  return texts;
}

TEST(ReportRowsTest, RowsReadBack) {
  using Limits = std::numeric_limits<double>;
  const absl::Time time = absl::FromUnixMillis(1795773801243);
  Report report = numbered_report().report;
  EvaluationResult result = numbered_evaluation().result;
  result.unknown_shares = {{"items", 0.25}};
  for (const bool hard : {false, true}) {
    if (hard) {
      result.elapsed = absl::InfiniteDuration();
      report.process.cores = -Limits::infinity();
      report.metrics = result.values = {{"", -0.0},
                                        {"../a~1 \"b\"\n", Limits::infinity()},
                                        {"not-a-number", Limits::quiet_NaN()},
                                        {"third", 1.0 / 3},
                                        {"smallest", Limits::denorm_min()}};
    }
    ASSERT_OK_AND_ASSIGN(const ReportRow train, parse_report_row(report_row(report, time)));
    EXPECT_EQ(train.step, 10);
    EXPECT_EQ(train.set, "train");
    EXPECT_EQ(train.time, time);
    EXPECT_EQ(texts(train.numbers), texts(values_of(report)));
    ASSERT_OK_AND_ASSIGN(const ReportRow evaluation, parse_report_row(report_row(result, time)));
    EXPECT_EQ(evaluation.set, "eval");
    EXPECT_EQ(texts(evaluation.numbers), texts(values_of(result)));
  }
}

TEST(ReportRowsTest, RowsOfOtherPrograms) {
  ASSERT_OK_AND_ASSIGN(
      const ReportRow row,
      parse_report_row(
          R"({"step":3,"seconds":1.5,"data_wait_share":null,"metrics":{"auc":0.5,"x":"y"}})"));
  EXPECT_FALSE(row.time.has_value());
  EXPECT_EQ(row.seconds, 1.5);
  EXPECT_EQ(texts(row.numbers), (std::vector<std::string>{"data_wait_share nan", "auc 0.5"}));
  for (const char* line : {"", "{", "[]", "7", "{}", R"({"step":"3"})", R"({"step":3}x)"}) {
    EXPECT_THAT(parse_report_row(line).status(), StatusIs(absl::StatusCode::kDataLoss)) << line;
  }
  for (const char* rest : {R"("tables":{"a":7})", R"("infinite":[],"metrics":{"a":null})",
                           R"("ranks":{"waiting":[]},"time":7,"set":{},"seconds":"x")"}) {
    EXPECT_OK(parse_report_row(absl::StrCat("{\"step\":3,", rest, "}")).status()) << rest;
  }
}

}  // namespace
}  // namespace millrace
