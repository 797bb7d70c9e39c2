#include "framework/metric_set.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

StepResult step(double loss, at::Tensor predictions, at::Tensor labels) {
  StepResult step;
  step.applied = true;
  step.examples = predictions.size(0);
  step.loss = at::scalar_tensor(loss);
  step.predictions = std::move(predictions);
  step.labels = std::move(labels);
  return step;
}

// Two examples and one task.
StepResult two(double loss) {
  return step(loss, at::tensor({0.75f, 0.25f}).view({2, 1}), at::tensor({1.0f, 0.0f}).view({2, 1}));
}

TEST(MetricSetTest, OneTask) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc", "mean"}, {"click"}));
  ASSERT_OK(set.update(two(0.5)));
  ASSERT_OK(set.update(step(2, at::full({6, 1}, 0.5), at::ones({6, 1}))));
  EXPECT_THAT(set.compute(), ElementsAre(Pair("auc", 1), Pair("loss", 1.625), Pair("mean", 0.5)))
      << "the loss is a mean over examples, not steps";
}

TEST(MetricSetTest, TasksArePrefixes) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"mean"}, {"click", "buy"}));
  // Columns are strided views of it.
  ASSERT_OK(
      set.update(step(1, at::tensor({0.5f, 0.1f, 1.0f, 0.3f}).view({2, 2}), at::ones({2, 2}))));
  const auto values = set.compute();
  EXPECT_EQ(values.size(), 3);
  EXPECT_DOUBLE_EQ(values.at("click/mean"), 0.75);
  EXPECT_NEAR(values.at("buy/mean"), 0.2, 1e-7);
}

TEST(MetricSetTest, Weights) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"mean"}, {"click"}));
  StepResult weighted = two(1);
  weighted.weights = at::tensor({3.0f, 1.0f});
  ASSERT_OK(set.update(weighted));
  EXPECT_EQ(set.compute().at("mean"), 0.625);
  weighted.weights = at::tensor({3.0, 1.0}, at::kDouble);
  ASSERT_OK(set.update(weighted)) << "of another type";
}

TEST(MetricSetTest, ResetForgets) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc"}, {"click"}));
  ASSERT_OK(set.update(two(7)));
  set.reset();
  EXPECT_TRUE(std::isnan(set.compute().at("loss")));
  EXPECT_TRUE(std::isnan(set.compute().at("auc")));
  ASSERT_OK(set.update(two(1)));
  EXPECT_EQ(set.compute().at("loss"), 1);
}

TEST(MetricSetTest, AStepWithoutExamplesCountsNothing) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc"}, {"click"}));
  ASSERT_OK(set.update(StepResult()));
  EXPECT_TRUE(std::isnan(set.compute().at("loss")));
}

TEST(MetricSetTest, UnknownMetric) {
  EXPECT_THAT(MetricSet::create({"auk"}, {"click"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"auc\"?")));
}

TEST(MetricSetTest, ShapesThatDoNotFit) {
  ASSERT_OK_AND_ASSIGN(MetricSet set, MetricSet::create({"auc"}, {"click"}));
  const auto expect_refused = [&](const StepResult& step, const char* what, const char* shape) {
    EXPECT_THAT(set.update(step), StatusIs(absl::StatusCode::kInvalidArgument,
                                           AllOf(HasSubstr(what), HasSubstr(shape))));
  };
  expect_refused(step(1, at::zeros({2, 2}), at::zeros({2, 1})), "predictions", "[2, 2]");
  expect_refused(step(1, at::zeros({2}), at::zeros({2, 1})), "predictions", "[2]");
  expect_refused(step(1, at::zeros({2, 1}), at::zeros({2, 3})), "labels", "[2, 3]");
  expect_refused(step(1, at::zeros({2, 1}), at::zeros({3, 1})), "labels", "[3, 1]");
  expect_refused(step(1, at::zeros({2, 1}), {}), "labels", "missing");
  StepResult weighted = two(1);
  weighted.weights = at::ones({3});
  expect_refused(weighted, "3 weights", "2 examples");
  EXPECT_TRUE(std::isnan(set.compute().at("loss"))) << "a refused step counts nothing";
}

}  // namespace
}  // namespace millrace
