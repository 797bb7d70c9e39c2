#include "sinks/prometheus/metrics_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace millrace {
namespace {

constexpr MetricFamily kRows = {"rows", MetricFamily::Type::kGauge, "Rows of a table."};
constexpr MetricFamily kSteps = {"steps_total", MetricFamily::Type::kCounter, "Steps."};

TEST(MetricsPageTest, HasHelpTypeAndSamplesOfEachFamily) {
  MetricsPage page;
  EXPECT_EQ(page.text(), "");
  page.add(kSteps, "", 3);
  page.set(kRows, "table=\"b\"", 2);
  page.set(kRows, "table=\"a\"", 1);
  EXPECT_EQ(page.text(),
            "# HELP rows Rows of a table.\n# TYPE rows gauge\n"
            "rows{table=\"a\"} 1\nrows{table=\"b\"} 2\n"
            "# HELP steps_total Steps.\n# TYPE steps_total counter\nsteps_total 3\n");
}

TEST(MetricsPageTest, SetReplacesAndAddAddsUp) {
  MetricsPage page;
  for (const double value : {2.0, 3.0}) {
    page.set(kRows, "", value);
    page.add(kSteps, "", value);
  }
  EXPECT_THAT(page.text(), testing::HasSubstr("\nrows 3\n"));
  EXPECT_THAT(page.text(), testing::HasSubstr("\nsteps_total 5\n"));
}

TEST(MetricsPageTest, MergedPagesHaveEachSampleOnce) {
  MetricsPage page, other;
  page.set(kRows, "table=\"a\"", 1);
  page.set(kRows, "table=\"b\"", 2);
  other.set(kRows, "table=\"b\"", 3);
  other.set(kRows, "table=\"c\"", 4);
  page.merge(other);
  EXPECT_EQ(page.text(),
            "# HELP rows Rows of a table.\n# TYPE rows gauge\n"
            "rows{table=\"a\"} 1\nrows{table=\"b\"} 3\nrows{table=\"c\"} 4\n");
}

TEST(MetricsPageTest, ValuesThatAreNotFinite) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  MetricsPage page;
  page.set(kRows, "a=\"1\"", std::nan(""));
  page.set(kRows, "a=\"2\"", kInfinity);
  page.set(kRows, "a=\"3\"", -kInfinity);
  EXPECT_THAT(page.text(), testing::EndsWith("rows{a=\"1\"} NaN\nrows{a=\"2\"} +Inf\n"
                                             "rows{a=\"3\"} -Inf\n"));
}

TEST(MetricsPageTest, LabelsAreEscaped) {
  EXPECT_EQ(prometheus_label("metric", "a\\b\"c\nd"), "metric=\"a\\\\b\\\"c\\nd\"");
}

}  // namespace
}  // namespace millrace
