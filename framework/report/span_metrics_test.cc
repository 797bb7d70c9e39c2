#include "framework/report/span_metrics.h"

#include <ATen/ATen.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using Values = std::map<std::string, double>;

// Returns a report with one example whose prediction and loss are `value`.
MetricSet report(float value, const std::vector<std::string>& metrics = {"mean"}) {
  MetricSet set = *MetricSet::create(metrics, {"label"}, LossScope::kWholeStep);
  StepResult step;
  step.examples = 1;
  step.loss = at::scalar_tensor(value);
  step.predictions = at::full({1, 1}, value);
  step.labels = at::ones({1, 1});
  EXPECT_OK(set.update(step));
  return set;
}

SpanMetrics make(const SpanOptions& options, const std::vector<std::string>& metrics = {"mean"}) {
  return *SpanMetrics::create(options, metrics, {"label"}, {});
}

Values compute(const SpanMetrics& spans) {
  Values values;
  spans.compute(values);
  return values;
}

TEST(SpanMetricsTest, Names) {
  EXPECT_EQ(span_name(ReportConfig::MOVING), "moving");
  for (const char* name : {"window", "epoch", "total", "moving"}) EXPECT_TRUE(is_span_name(name));
  for (const char* name : {"", "Epoch", "EPOCH", "click"}) EXPECT_FALSE(is_span_name(name));
}

TEST(SpanMetricsTest, EachSpanHasItsReports) {
  SpanMetrics spans = make({.spans = {ReportConfig::WINDOW, ReportConfig::EPOCH,
                                      ReportConfig::TOTAL, ReportConfig::MOVING},
                            .moving_reports = 2});
  EXPECT_TRUE(spans.active());
  spans.add(report(0), {.epoch = 0, .window = 0});
  spans.add(report(0.25), {.epoch = 0, .window = 0});
  spans.add(report(0.5), {.epoch = 1, .window = 1});
  spans.add(report(0.75), {.epoch = 1, .window = 2});
  EXPECT_THAT(compute(spans), ElementsAre(Pair("epoch/loss", 0.625), Pair("epoch/mean", 0.625),
                                          Pair("moving/loss", 0.625), Pair("moving/mean", 0.625),
                                          Pair("total/loss", 0.375), Pair("total/mean", 0.375),
                                          Pair("window/loss", 0.75), Pair("window/mean", 0.75)));
}

TEST(SpanMetricsTest, MetricsThatKeepExamplesAreInMovingAlone) {
  const std::vector<std::string> metrics = {"auc", "mean"};
  SpanMetrics spans =
      make({.spans = {ReportConfig::TOTAL, ReportConfig::MOVING}, .moving_reports = 2}, metrics);
  spans.add(report(0.5, metrics), {});
  const Values values = compute(spans);
  EXPECT_EQ(values.count("total/auc"), 0);
  EXPECT_EQ(values.count("total/mean"), 1);
  EXPECT_EQ(values.count("moving/auc"), 1);
}

TEST(SpanMetricsTest, StateContinues) {
  const SpanOptions options{
      .spans = {ReportConfig::EPOCH, ReportConfig::TOTAL, ReportConfig::MOVING},
      .moving_reports = 3};
  SpanMetrics whole = make(options);
  for (int i = 0; i < 7; ++i) {
    const SpanPosition position{.epoch = i / 3};
    whole.add(report(static_cast<float>(i) / 8), position);
    ReportState state;
    whole.save(state);
    SpanMetrics resumed = make(options);
    ASSERT_OK(resumed.load(state));
    EXPECT_EQ(compute(resumed), compute(whole));
    whole = std::move(resumed);
  }
  ReportState state;
  whole.save(state);
  SpanMetrics shorter = make({.spans = {ReportConfig::MOVING}, .moving_reports = 2});
  ASSERT_OK(shorter.load(state));
  EXPECT_THAT(compute(shorter),
              ElementsAre(Pair("moving/loss", 0.6875), Pair("moving/mean", 0.6875)));
}

TEST(SpanMetricsTest, DamagedStateIsAnError) {
  const SpanOptions options{.spans = {ReportConfig::TOTAL}};
  SpanMetrics spans = make(options);
  spans.add(report(0.5), {});
  ReportState state;
  spans.save(state);
  state.mutable_span(0)->mutable_metrics(0)->pop_back();
  EXPECT_THAT(spans.load(state),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("metrics of span total")));
  spans.add(report(1), {});
  EXPECT_EQ(compute(spans).at("total/mean"), 1) << "nothing of the damaged state is kept";
}

}  // namespace
}  // namespace millrace
