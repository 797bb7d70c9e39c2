#include "framework/report/monitored_metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

TEST(MonitoredMetricTest, IsFoundInEvaluationsOfItsSetAlone) {
  const MonitoredMetric monitored("eval/click/auc");
  EvaluationResult result;
  result.set = "eval";
  result.metrics = {{"click/auc", 0.75}};
  EXPECT_THAT(monitored.find(result), IsOkAndHolds(Optional(0.75)));
  result.set = "train";
  EXPECT_THAT(monitored.find(result), IsOkAndHolds(std::nullopt));
  Report report;
  report.metrics = {{"click/auc", 0.75}};
  EXPECT_THAT(monitored.find(report), IsOkAndHolds(std::nullopt));
  EXPECT_FALSE(monitored.is_of_training());
}

TEST(MonitoredMetricTest, IsFoundInReportsOfTrainingAlone) {
  const MonitoredMetric monitored("train/loss");
  Report report;
  report.metrics = {{"loss", 0.5}};
  EXPECT_THAT(monitored.find(report), IsOkAndHolds(Optional(0.5)));
  EvaluationResult result;
  result.set = "train";
  result.metrics = {{"loss", 0.5}};
  EXPECT_THAT(monitored.find(result), IsOkAndHolds(std::nullopt));
  EXPECT_TRUE(monitored.is_of_training());
}

TEST(MonitoredMetricTest, TheFirstValueOfAStepIsNew) {
  MonitoredMetric monitored("eval/auc");
  EXPECT_EQ(monitored.last_step(), std::nullopt);
  EXPECT_TRUE(monitored.observe(0));
  EXPECT_FALSE(monitored.observe(0));
  EXPECT_TRUE(monitored.observe(5));
  EXPECT_FALSE(monitored.observe(5));
  EXPECT_THAT(monitored.last_step(), Optional(5));
}

TEST(MonitoredMetricTest, ARunForgetsAStepThatLiesAfterItsBegin) {
  MonitoredMetric monitored("eval/auc");
  monitored.set_last_step(5);
  monitored.begin_run(5);
  EXPECT_FALSE(monitored.observe(5));
  monitored.begin_run(4);
  EXPECT_EQ(monitored.last_step(), std::nullopt);
  EXPECT_TRUE(monitored.observe(5));
}

TEST(MonitoredMetricTest, NamesTheNearestMetric) {
  Report report;
  report.metrics = {{"loss", 0.5}, {"auc", 0.5}};
  EXPECT_THAT(
      MonitoredMetric("train/los").find(report).status(),
      StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("train/los"), HasSubstr("\"loss\""))));
}

}  // namespace
}  // namespace millrace
