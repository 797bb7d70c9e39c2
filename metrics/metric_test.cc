#include "metrics/metric.h"

#include "base/status_matchers.h"
#include "metrics/metric_conformance.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(MetricTest, NamesAreSorted) {
  EXPECT_THAT(metric_names(), ElementsAre("accuracy", "auc", "auc_buckets", "calibration",
                                          "calibration_error", "f1", "logloss", "mae", "mean",
                                          "mse", "ne", "pr_auc", "precision", "recall", "rmse"));
}

TEST(MetricTest, EveryNameMakesAMetricThatConforms) {
  for (const std::string& name : metric_names()) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<Metric> metric, create_metric(name));
    EXPECT_EQ(metric->name(), absl::string_view(name));
    EXPECT_THAT(failing_properties(metric_properties([&] { return *create_metric(name); })),
                IsEmpty());
  }
}

TEST(MetricTest, UnknownNameSuggestsTheNearest) {
  EXPECT_THAT(create_metric("loglos"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("no metric \"loglos\""), HasSubstr("\"logloss\""))));
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
