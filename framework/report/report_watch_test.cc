#include "framework/report/report_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

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

TEST(ReportWatchTest, WarnsOfALossThatEndsFarAboveItsStart) {
  ReportWatch watch({"click"});
  EXPECT_EQ(watch.end(), std::nullopt);
  watch.add(report_of(1, {{"loss", 0.7}}));
  watch.add(report_of(1, {{"loss", 2.0}, {"ne", 2.9}}));
  EXPECT_EQ(watch.end(), std::nullopt);
  watch.add(report_of(1, {{"loss", 2.2}}));
  EXPECT_THAT(watch.end(), Optional(HasSubstr("2.2, is far above 0.7")));
  watch.begin_run();
  watch.add(report_of(1, {{"loss", 9e6}, {"ne", 1e7}}));
  EXPECT_THAT(watch.end(), Optional(HasSubstr("label click: ne of the last report is 1e+07")));
}

}  // namespace
}  // namespace millrace
