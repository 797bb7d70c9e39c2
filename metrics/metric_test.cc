#include "metrics/metric.h"

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_matchers.h"
#include "metrics/metric_conformance.h"
#include "metrics/metric_registry.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(MetricTest, NamesAreSorted) {
  EXPECT_THAT(
      metric_names(),
      ElementsAre("accuracy", "auc", "auc_buckets", "calibration", "calibration_error", "f1",
                  "gauc", "hit_rate_at", "logloss", "mae", "map_at", "mean", "mrr", "mse",
                  "ndcg_at", "ne", "pr_auc", "precision", "recall", "recall_at", "rmse"));
}

// Returns the name of a metric in a list, with a cutoff if it needs one.
std::string listed(const std::string& name) {
  if (traits_of_metric(name).cutoff != MetricCutoff::kRequired) return name;
  return absl::StrCat(absl::StripSuffix(name, "_at"), "@5");
}

TEST(MetricTest, EveryNameMakesAMetricOfThatName) {
  for (const std::string& name : metric_names()) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, create_metric(listed(name)));
    EXPECT_EQ(metric->name(), absl::string_view(listed(name)));
  }
}

TEST(MetricTest, NamesWithACutoff) {
  EXPECT_EQ((*create_metric("recall@3"))->name(), "recall@3");
  EXPECT_TRUE(traits_of_metric("recall@3").needs_groups);
  EXPECT_EQ((*create_metric("recall"))->name(), "recall");
  EXPECT_FALSE(traits_of_metric("recall").needs_groups);
  EXPECT_EQ((*create_metric("mrr"))->name(), "mrr");
  EXPECT_EQ((*create_metric("mrr@3"))->name(), "mrr@3");
  for (const char* name : {"ndcg@0", "ndcg_at", "auc@5", "recall@x"}) {
    EXPECT_THAT(create_metric(name), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(name)));
  }
  EXPECT_THAT(create_metric("ndgc@5"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no metric \"ndgc@5\"")));
}

TEST(MetricTest, MetricsOfGroups) {
  const std::set<std::string> grouped = {"gauc", "hit_rate_at", "map_at",
                                         "mrr",  "ndcg_at",     "recall_at"};
  for (const std::string& name : metric_names()) {
    EXPECT_EQ(traits_of_metric(name).needs_groups, grouped.count(name) > 0) << name;
  }
}

TEST(MetricTest, MetricsOfProbabilities) {
  const std::set<std::string> of_probabilities = {
      "accuracy", "auc_buckets", "calibration", "calibration_error", "f1", "logloss",
      "ne",       "precision",   "recall"};
  for (const std::string& name : metric_names()) {
    EXPECT_EQ(traits_of_metric(name).needs_probabilities, of_probabilities.count(name) > 0) << name;
  }
}

// The memory of a metric decides over which spans it can be computed.
TEST(MetricTest, MetricsThatKeepExamplesSaySo) {
  for (const std::string& name : metric_names()) {
    const auto saved_bytes = [&](size_t examples) {
      const std::unique_ptr<Metric> metric = *create_metric(listed(name));
      metric->update(random_examples(1, examples, false).all());
      return metric->save().size();
    };
    EXPECT_EQ(saved_bytes(20000) > 2 * saved_bytes(5000), traits_of_metric(name).keeps_examples)
        << name;
  }
}

TEST(MetricTest, UnknownNameSuggestsTheNearest) {
  EXPECT_THAT(create_metric("loglos"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("no metric \"loglos\""), HasSubstr("\"logloss\""))));
  EXPECT_THAT(create_metric("ndcg"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"ndcg@10\"?")));
  EXPECT_THAT(create_metric(""), StatusIs(absl::StatusCode::kNotFound));
}

TEST(MetricTest, BinaryMetricsComeInReportingOrder) {
  std::vector<std::string> names;
  for (const auto& metric : binary_metrics()) names.emplace_back(metric->name());
  EXPECT_THAT(names, ElementsAre("auc", "logloss", "ne", "calibration"));
}

TEST(MetricTest, WeightIsOneWithoutWeights) {
  const float weights[] = {0.5f};
  EXPECT_EQ(MetricInput{}.weight(3), 1.0);
  EXPECT_EQ((MetricInput{.predictions = weights, .labels = weights, .weights = weights}.weight(0)),
            0.5);
}

}  // namespace
}  // namespace millrace
