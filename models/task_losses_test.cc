#include "models/task_losses.h"

#include <ATen/ATen.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "base/status_matchers.h"
#include "models/model_data_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

// Creates TaskLosses for these features and tasks.
absl::StatusOr<TaskLosses> create(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return TaskLosses::create(model_test_resources(train));
}

TaskLosses make(const std::string& text) {
  absl::StatusOr<TaskLosses> losses = create(text);
  EXPECT_OK(losses.status());
  return *std::move(losses);
}

Batch labelled(const at::Tensor& labels) {
  Batch batch;
  batch.size = labels.size(0);
  batch.labels = labels;
  return batch;
}

constexpr char kOne[] = "feature { name: \"a\" kind: LABEL } ";
constexpr char kMasked[] = "feature { name: \"a\" kind: LABEL missing: MASK } ";
constexpr char kSecond[] = "feature { name: \"b\" kind: LABEL } ";
constexpr char kGroups[] = "feature { name: \"g\" kind: GROUP_ID } ";

double cross_entropy(double logit, double label) {
  return std::log1p(std::exp(logit)) - label * logit;
}

TEST(TaskLossesTest, OneLabelCountsNoTargets) {
  const TaskLosses tasks = make(kOne);
  EXPECT_EQ(tasks.size(), 1);
  const Batch batch = labelled(at::tensor({1.0f, 0.0f}).view({2, 1}));
  EXPECT_THAT(tasks.count_targets(batch), IsEmpty());
  const ModelOutput output = tasks.output(at::tensor({0.0f, 2.0f}).view({2, 1}), batch);
  EXPECT_EQ(output.loss.dim(), 0);
  EXPECT_NEAR(output.loss.item<double>(), cross_entropy(0, 1) + cross_entropy(2, 0), 1e-6);
  EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({2, 1}));
  EXPECT_FLOAT_EQ(output.predictions[0][0].item<float>(), 0.5f);
}

TEST(TaskLossesTest, AFactorOfOneTask) {
  const TaskLosses tasks = make(std::string(kOne) + "task { weight: 3 }");
  const Batch batch = labelled(at::ones({1, 1}));
  EXPECT_THAT(tasks.count_targets(batch), IsEmpty());
  EXPECT_NEAR(tasks.output(at::zeros({1, 1}), batch).loss.item<double>(), 3 * std::log(2.0), 1e-6);
}

TEST(TaskLossesTest, MissingLabelsHaveNoPart) {
  const TaskLosses tasks = make(kMasked);
  Batch batch = labelled(at::tensor({1.0f, kMissing, 0.0f, kMissing}).view({4, 1}));
  EXPECT_THAT(tasks.count_targets(batch), ElementsAre(2));
  batch.weights = at::tensor({2.0f, 5.0f, 0.5f, 7.0f});
  const at::Tensor outputs = at::tensor({0.5f, 9.0f, 1.0f, -9.0f}).view({4, 1}).requires_grad_();
  const ModelOutput output = tasks.output(outputs, batch);
  ASSERT_EQ(output.loss.sizes(), at::IntArrayRef({1}));
  EXPECT_NEAR(output.loss[0].item<double>(), 2 * cross_entropy(0.5, 1) + 0.5 * cross_entropy(1, 0),
              1e-6);
  EXPECT_EQ(output.predictions.size(0), 4) << "all are predicted";
  EXPECT_TRUE(output.predictions.isfinite().all().item<bool>());
  output.loss.sum().backward();
  EXPECT_TRUE(outputs.grad().isfinite().all().item<bool>());
  EXPECT_EQ(outputs.grad()[1][0].item<float>(), 0);
  EXPECT_EQ(outputs.grad()[3][0].item<float>(), 0);
  EXPECT_NE(outputs.grad()[0][0].item<float>(), 0);
}

TEST(TaskLossesTest, NoLabelAtAll) {
  const TaskLosses tasks = make(kMasked);
  const Batch batch = labelled(at::full({3, 1}, kMissing));
  EXPECT_THAT(tasks.count_targets(batch), ElementsAre(0));
  const at::Tensor outputs = at::ones({3, 1}).requires_grad_();
  const ModelOutput output = tasks.output(outputs, batch);
  EXPECT_EQ(output.loss[0].item<float>(), 0);
  output.loss.sum().backward();
  EXPECT_EQ(outputs.grad().abs().sum().item<float>(), 0);
}

TEST(TaskLossesTest, SeveralTasksEachWithItsLossAndWeight) {
  const TaskLosses tasks =
      make(std::string(kMasked) + kSecond + "task { label: \"b\" weight: 0.25 huber {} }");
  const Batch batch = labelled(at::tensor({1.0f, 5.0f, kMissing, -1.0f}).view({2, 2}));
  EXPECT_THAT(tasks.count_targets(batch), ElementsAre(1, 2));
  const ModelOutput output =
      tasks.output(at::tensor({2.0f, 3.0f, 7.0f, -0.5f}).view({2, 2}), batch);
  ASSERT_EQ(output.loss.sizes(), at::IntArrayRef({2}));
  EXPECT_NEAR(output.loss[0].item<double>(), cross_entropy(2, 1), 1e-6);
  EXPECT_NEAR(output.loss[1].item<double>(), 0.25 * (1.5 + 0.125), 1e-6);
  EXPECT_NEAR(output.predictions[0][0].item<double>(), 1 / (1 + std::exp(-2.0)), 1e-6);
  EXPECT_EQ(output.predictions[1][1].item<float>(), -0.5f) << "Huber's loss predicts outputs";
}

TEST(TaskLossesTest, AMissingLabelIsAbsentFromItsGroup) {
  const TaskLosses tasks = make(std::string(kMasked) + kGroups + "task { pairwise {} }");
  Batch batch = labelled(at::tensor({1.0f, 0.0f, kMissing, 0.0f}).view({4, 1}));
  batch.group_ids = at::tensor({7, 7, 7, 8}, at::kLong);
  EXPECT_THAT(tasks.count_targets(batch), ElementsAre(1));
  const ModelOutput output = tasks.output(at::tensor({1.0f, 3.0f, 9.0f, 0.0f}).view({4, 1}), batch);
  EXPECT_NEAR(output.loss[0].item<double>(), std::log1p(std::exp(2.0)), 1e-6);
}

TEST(TaskLossesTest, WithoutGroupIdsEachExampleIsAGroup) {
  const TaskLosses tasks = make(std::string(kOne) + kGroups + "task { pairwise {} }");
  const Batch batch = labelled(at::tensor({1.0f, 0.0f}).view({2, 1}));
  EXPECT_THAT(tasks.count_targets(batch), ElementsAre(0));
  EXPECT_EQ(tasks.output(at::ones({2, 1}), batch).loss[0].item<float>(), 0);
}

TEST(TaskLossesTest, EmptyBatch) {
  for (const std::string& text :
       {std::string(kOne), std::string(kMasked),
        std::string(kMasked) + kSecond + kGroups + "task { label: \"b\" softmax {} }"}) {
    const TaskLosses tasks = make(text);
    const Batch batch = labelled(at::empty({0, tasks.size()}));
    for (const int64_t count : tasks.count_targets(batch)) EXPECT_EQ(count, 0);
    const ModelOutput output = tasks.output(at::empty({0, tasks.size()}), batch);
    EXPECT_EQ(output.loss.sum().item<float>(), 0);
    EXPECT_EQ(output.predictions.sizes(), at::IntArrayRef({0, tasks.size()}));
  }
}

TEST(TaskLossesTest, WhatDoesNotFitIsAnError) {
  EXPECT_THAT(create(std::string(kOne) + "task { label: \"c\" }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"c\"")));
  EXPECT_THAT(create(std::string(kOne) + "task { pairwise {} }").status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("GROUP_ID")));
}

}  // namespace
}  // namespace millrace
