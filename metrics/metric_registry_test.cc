#include "metrics/metric_registry.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/status_matchers.h"
#include "metrics/metric.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

TEST(MetricCutoffTest, Parts) {
  EXPECT_EQ(split_cutoff("ndcg@10").base, "ndcg");
  EXPECT_EQ(split_cutoff("ndcg@10").cutoff, 10);
  EXPECT_EQ(split_cutoff("auc").base, "auc");
  EXPECT_FALSE(split_cutoff("auc").cutoff.has_value());
  EXPECT_FALSE(split_cutoff("ndcg@0").cutoff.has_value());
  EXPECT_FALSE(split_cutoff("ndcg@1000001").cutoff.has_value());
}

TEST(MetricCutoffTest, WrongOnesAreErrors) {
  const auto expect = [](const char* name, MetricCutoff cutoff, const char* what) {
    EXPECT_THAT(check_cutoff(name, cutoff),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
  };
  expect("auc@5", MetricCutoff::kNone, "metric \"auc@5\": auc takes no cutoff");
  expect("ndcg_at", MetricCutoff::kRequired, "write ndcg@10");
  for (const char* name :
       {"ndcg@0", "ndcg@-1", "ndcg@", "ndcg@x", "ndcg@1@2", "ndcg@1000001", "ndcg@05"}) {
    expect(name, MetricCutoff::kRequired, "must be a whole number from 1 to 1000000");
  }
  EXPECT_OK(check_cutoff("ndcg@1", MetricCutoff::kRequired));
  EXPECT_OK(check_cutoff("mrr", MetricCutoff::kOptional));
  EXPECT_OK(check_cutoff("mrr@5", MetricCutoff::kOptional));
  EXPECT_OK(check_cutoff("auc", MetricCutoff::kNone));
}

TEST(MetricDirectionTest, OfEveryMetric) {
  const std::map<std::string, MetricDirection> expected = {
      {"accuracy", MetricDirection::kHigherIsBetter},
      {"auc", MetricDirection::kHigherIsBetter},
      {"auc_buckets", MetricDirection::kHigherIsBetter},
      {"calibration", MetricDirection::kNone},
      {"calibration_error", MetricDirection::kLowerIsBetter},
      {"f1", MetricDirection::kHigherIsBetter},
      {"gauc", MetricDirection::kHigherIsBetter},
      {"hit_rate_at", MetricDirection::kHigherIsBetter},
      {"logloss", MetricDirection::kLowerIsBetter},
      {"mae", MetricDirection::kLowerIsBetter},
      {"map_at", MetricDirection::kHigherIsBetter},
      {"mean", MetricDirection::kNone},
      {"mrr", MetricDirection::kHigherIsBetter},
      {"mse", MetricDirection::kLowerIsBetter},
      {"ndcg_at", MetricDirection::kHigherIsBetter},
      {"ne", MetricDirection::kLowerIsBetter},
      {"pr_auc", MetricDirection::kHigherIsBetter},
      {"precision", MetricDirection::kHigherIsBetter},
      {"recall", MetricDirection::kHigherIsBetter},
      {"recall_at", MetricDirection::kHigherIsBetter},
      {"rmse", MetricDirection::kLowerIsBetter},
  };
  for (const std::string& name : metric_names()) {
    ASSERT_EQ(expected.count(name), 1) << "a new metric needs a decision: " << name;
    EXPECT_EQ(direction_of_metric(name), expected.at(name)) << name;
  }
}

TEST(MetricDirectionTest, OfMonitors) {
  EXPECT_EQ(direction_of_monitor("eval/auc"), MetricDirection::kHigherIsBetter);
  EXPECT_EQ(direction_of_monitor("eval/buy/ne"), MetricDirection::kLowerIsBetter);
  EXPECT_EQ(direction_of_monitor("auc/mean"), MetricDirection::kNone);
  EXPECT_EQ(direction_of_monitor("loss"), MetricDirection::kLowerIsBetter);
}

TEST(MetricDirectionTest, OfTheLossAndOfOtherNames) {
  EXPECT_EQ(direction_of_metric("loss"), MetricDirection::kLowerIsBetter);
  EXPECT_EQ(direction_of_metric("acu"), MetricDirection::kNone);
  EXPECT_EQ(direction_of_metric(""), MetricDirection::kNone);
}

}  // namespace
}  // namespace millrace
