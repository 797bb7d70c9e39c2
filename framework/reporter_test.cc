#include "framework/reporter.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/status_matchers.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

StepResult step(int64_t examples, double loss) {
  StepResult step;
  step.applied = true;
  step.examples = examples;
  step.loss = at::scalar_tensor(loss);
  step.predictions = at::full({examples, 1}, 0.5);
  step.labels = at::ones({examples, 1});
  step.values = {{"margin", at::scalar_tensor(loss * 10)}};
  step.timings.data_wait = absl::Seconds(1);
  return step;
}

class ReporterTest : public testing::Test {
 protected:
  ReporterTest() {
    TinyTrainerOptions options;
    options.train.sparse = 1;
    options.learning_rate = 0.25;
    parts_ = tiny_parts(options);
  }
  Reporter reporter() {
    const auto collections = parts_.sparse_optimizer->collections();
    return Reporter(*MetricSet::create({"mean"}, {"label"}), parts_.dense_optimizers,
                    parts_.sparse_optimizer.get(), {collections.begin(), collections.end()});
  }
  TrainerParts parts_;
};

TEST_F(ReporterTest, CollectsSteps) {
  Reporter reporter = this->reporter();
  ASSERT_OK(reporter.add(step(4, 1)));
  ASSERT_OK(reporter.add(step(12, 2)));
  reporter.values().add("clicks", 3, Reduction::kSum);
  EXPECT_EQ(reporter.steps(), 2);
  const Progress progress = {.step = 2, .examples = 16, .elapsed = absl::Seconds(8)};
  const Report report = reporter.take(progress);
  EXPECT_TRUE(report.progress == progress);
  EXPECT_EQ(report.steps, 2);
  EXPECT_EQ(report.examples, 16);
  EXPECT_EQ(report.examples_per_second, 2);
  EXPECT_EQ(report.data_wait_share, 0.25);
  EXPECT_THAT(report.metrics, ElementsAre(Pair("loss", 1.75), Pair("mean", 0.5)));
  EXPECT_THAT(report.values, ElementsAre(Pair("clicks", 3), Pair("margin", 15)));
  EXPECT_THAT(report.learning_rates, ElementsAre(Pair("dense", 0.25), Pair("sparse", 0.25)));
  ASSERT_EQ(report.tables.size(), 1);
  EXPECT_EQ(report.tables.at("items").rows, 0);
}

TEST_F(ReporterTest, EachReportBeginsAnew) {
  Reporter reporter = this->reporter();
  ASSERT_OK(reporter.add(step(4, 1)));
  reporter.take({.step = 1, .elapsed = absl::Seconds(10)});
  EXPECT_EQ(reporter.steps(), 0);
  ASSERT_OK(reporter.add(step(8, 3)));
  const Report report = reporter.take({.step = 2, .elapsed = absl::Seconds(12)});
  EXPECT_EQ(report.steps, 1);
  EXPECT_EQ(report.examples, 8);
  EXPECT_EQ(report.examples_per_second, 4);
  EXPECT_EQ(report.data_wait_share, 0.5);
  EXPECT_EQ(report.metrics.at("loss"), 3);
  EXPECT_EQ(report.values.at("margin"), 30);
}

TEST_F(ReporterTest, WithoutTimeThereAreNoRates) {
  Reporter reporter = this->reporter();
  ASSERT_OK(reporter.add(step(4, 1)));
  const Report report = reporter.take({.step = 1});
  EXPECT_EQ(report.examples_per_second, 0);
  EXPECT_EQ(report.data_wait_share, 0);
}

TEST_F(ReporterTest, WithoutStepsMetricsAreNotANumber) {
  Reporter reporter = this->reporter();
  const Report report = reporter.take({});
  EXPECT_EQ(report.steps, 0);
  EXPECT_TRUE(std::isnan(report.metrics.at("loss")));
  EXPECT_THAT(report.values, IsEmpty());
}

TEST_F(ReporterTest, WithoutTables) {
  Reporter reporter(*MetricSet::create({}, {"label"}), {}, nullptr, {});
  const Report report = reporter.take({});
  EXPECT_THAT(report.learning_rates, IsEmpty());
  EXPECT_THAT(report.tables, IsEmpty());
}

TEST_F(ReporterTest, ErrorsOfMetricsComeOut) {
  Reporter reporter = this->reporter();
  StepResult wrong = step(4, 1);
  wrong.labels = at::ones({3, 1});
  EXPECT_THAT(reporter.add(wrong), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace millrace
