#include "sinks/report_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace millrace {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ReportValuesTest, Reports) {
  Report report;
  report.examples_per_second = 100;
  report.data_wait_share = 0.25;
  report.metrics = {{"loss", 0.5}, {"auc", 0.75}};
  report.values = {{"margin", 2}};
  report.learning_rates = {{"dense", 0.001}};
  report.process = {.cores = 1.5, .resident_bytes = 4096};
  EXPECT_THAT(values_of(report),
              ElementsAre(Pair("examples_per_second", 100), Pair("data_wait_share", 0.25),
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
  std::set<std::string> names;
  for (const auto& [name, value] : numbers) EXPECT_TRUE(names.insert(name).second) << name;
}

TEST(ReportValuesTest, Evaluations) {
  EvaluationResult result;
  result.examples = 10;
  result.elapsed = absl::Milliseconds(500);
  result.metrics = {{"auc", 0.75}};
  EXPECT_THAT(values_of(result), ElementsAre(Pair("evaluation_seconds", 0.5),
                                             Pair("evaluated_examples", 10), Pair("auc", 0.75)));
}

}  // namespace
}  // namespace millrace
