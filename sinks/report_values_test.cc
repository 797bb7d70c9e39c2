#include "sinks/report_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ReportValuesTest, Reports) {
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

TEST(ReportValuesTest, TablesAndRanks) {
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

TEST(ReportValuesTest, Evaluations) {
  EvaluationResult result;
  result.examples = 10;
  result.elapsed = absl::Milliseconds(500);
  result.metrics = {{"auc", 0.75}};
  result.unknown_shares = {{"items", 0.25}};
  EXPECT_THAT(values_of(result),
              ElementsAre(Pair("evaluation_seconds", 0.5), Pair("evaluated_examples", 10),
                          Pair("auc", 0.75), Pair("table/items/unknown_share", 0.25)));
}

}  // namespace
}  // namespace millrace
