#include "metrics/metric_cutoff.h"

#include "base/status_matchers.h"

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

}  // namespace
}  // namespace millrace
