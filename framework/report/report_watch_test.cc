#include "framework/report/report_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

Report report_of(int64_t examples, std::map<std::string, double> metrics) {
  Report report;
  report.examples = examples;
  report.metrics = std::move(metrics);
  return report;
}

TEST(ReportWatchTest, WarnsOfOneClassInTheFirstReport) {
  const std::map<std::string, double> one_class = {{"auc", NAN}, {"ne", NAN}, {"loss", 0.1}};
  ReportWatch watch({"click"});
  EXPECT_THAT(watch.add(report_of(99, one_class)), IsEmpty()) << "chance";
  EXPECT_THAT(watch.add(report_of(100, one_class)),
              ElementsAre(HasSubstr("label click: the 100 examples")));
  EXPECT_THAT(watch.add(report_of(100, one_class)), IsEmpty()) << "once";
  watch.begin_run();
  EXPECT_THAT(watch.add(report_of(100, {{"auc", 0.5}, {"loss", 0.1}})), IsEmpty());
  watch.begin_run();
  EXPECT_THAT(watch.add(report_of(100, {{"loss", 0.1}})), IsEmpty()) << "no auc is computed";
  ReportWatch tasks({"click", "buy"});
  EXPECT_THAT(tasks.add(report_of(100, {{"click/auc", 0.5}, {"buy/auc", NAN}, {"loss", 0.1}})),
              ElementsAre(HasSubstr("label buy")));
}

TEST(ReportWatchTest, WarnsOnceOfAFrozenTableOfOtherIds) {
  Report report = report_of(100, {{"loss", 0.1}});
  report.tables["users"].unknown_share = 0.4;
  report.tables["items"] = {.unadmitted = 60, .unknown_share = 0.6};
  report.tables["words"].unknown_share = 0.97;
  ReportWatch watch({"click"});
  EXPECT_THAT(watch.add(report), ElementsAre(HasSubstr("97 % of the lookups in the frozen table "
                                                       "words")));
  EXPECT_THAT(watch.add(report), IsEmpty());
}

TEST(ReportWatchTest, WarnsOfALossThatEndsFarAboveItsStart) {
  struct Reported {
    int64_t steps, examples;
    double loss, logloss;
  };
  const auto warning = [](const std::vector<Reported>& reports) {
    ReportWatch watch({"click"});
    for (const Reported& reported : reports) {
      Report report =
          report_of(reported.examples, {{"loss", reported.loss}, {"logloss", reported.logloss}});
      report.steps = reported.steps;
      watch.add(report);
    }
    return watch.end();
  };
  EXPECT_EQ(warning({}), std::nullopt);
  EXPECT_EQ(warning({{10, 100, 0.7, 0.7}, {10, 100, 2.0, 1}}), std::nullopt);
  EXPECT_THAT(warning({{10, 100, 0.7, 0.7}, {10, 100, 2.2, 1}}),
              Optional(HasSubstr("2.2, is far above 0.7")));
  EXPECT_EQ(warning({{10, 100, 0.7, 0.7}, {10, 99, 2.2, 2.2}}), std::nullopt) << "few examples";
  EXPECT_EQ(warning({{10, 1000, 0.7, 0.7}, {4, 400, 2.2, 2.2}}), std::nullopt) << "a last rest";
  EXPECT_THAT(warning({{10, 100, 9e6, 8}, {10, 100, 9e5, 7}}),
              Optional(HasSubstr("label click: logloss of the last report is 7, worse")));
}

TEST(CheckEvaluationTest, WarnsOfUnknownIdsOneClassAndEmptySlices) {
  const auto subjects = [](std::map<std::string, double> metrics, std::vector<std::string> tasks) {
    EvaluationResult result;
    result.metrics = std::move(metrics);
    result.unknown_shares = {{"user", 0.5}, {"item", 0.4}};
    const SliceOptions by_text{
        .name = "country", .ids = {7, 8}, .id_names = {{7, "DE"}, {8, "XX"}}};
    const SliceOptions by_id{.name = "device", .ids = {1}};
    std::vector<std::string> subjects;
    for (const auto& warning : check_evaluation(result, tasks, {by_text, by_id})) {
      subjects.push_back(warning.subject);
      if (absl::StartsWith(warning.subject, "slice")) subjects.back() = warning.text;
    }
    return subjects;
  };
  EXPECT_THAT(subjects({{"auc", 0.7}, {"country=DE/examples", 3}}, {"click"}),
              ElementsAre("table user", HasSubstr("in the slice country=XX; check")));
  const std::map<std::string, double> known = {{"country=DE/examples", 3},
                                               {"country=XX/examples", 3}};
  struct Case {
    std::map<std::string, double> metrics;
    std::vector<std::string> tasks;
    std::vector<std::string> warned;
  };
  for (Case test : std::vector<Case>{
           {{{"auc", NAN}, {"ne", NAN}, {"logloss", 0.1}}, {"click"}, {"label click"}},
           {{{"ne", NAN}, {"loss", 0.1}}, {"click"}, {"label click"}},
           {{{"auc", NAN}, {"logloss", NAN}, {"loss", 0}}, {"click"}, {}},  // no labels
           {{{"rmse", 0.1}, {"loss", 0.1}}, {"click"}, {}},
           {{{"click/auc", 0.5}, {"buy/auc", NAN}, {"loss", 0.1}}, {"click", "buy"}, {"label buy"}},
           // No example has the label buy.
           {{{"click/ne", 0.5}, {"buy/ne", NAN}, {"buy/loss", NAN}, {"loss", 0.1}},
            {"click", "buy"},
            {}},
       }) {
    test.metrics.insert(known.begin(), known.end());
    test.warned.insert(test.warned.begin(), "table user");
    EXPECT_EQ(subjects(test.metrics, test.tasks), test.warned);
  }
}

}  // namespace
}  // namespace millrace
