#include "framework/model/model_output.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/failure_kind.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ModelOutputCheckTest : public testing::Test {
 protected:
  ModelOutputCheckTest() {
    batch_.size = 3;
    output_.loss = at::zeros({});
    output_.predictions = at::zeros({3, 2});
  }
  void expect_refused(const char* what) {
    const absl::Status status = check_model_output(output_, batch_);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
    EXPECT_EQ(kind_of(status), FailureKind::kPart);
  }

  Batch batch_;
  ModelOutput output_;
};

TEST_F(ModelOutputCheckTest, AcceptsWhatTheContractSays) {
  EXPECT_OK(check_model_output(output_, batch_));
  output_.loss = at::zeros({1});
  output_.targets = at::ones({});
  output_.metrics.push_back({"x", at::ones({})});
  EXPECT_OK(check_model_output(output_, batch_));
}

TEST_F(ModelOutputCheckTest, Loss) {
  output_.loss = at::zeros({3});
  expect_refused("loss is not one number");
  output_.loss = at::Tensor();
  expect_refused("loss is not one number");
}

TEST_F(ModelOutputCheckTest, LossesOfTasks) {
  for (const at::Tensor& loss : {at::Tensor(), at::zeros({}), at::zeros({3}), at::zeros({1, 2})}) {
    output_.loss = loss;
    EXPECT_THAT(check_model_output(output_, batch_, 2),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2 tasks")));
  }
  output_.loss = at::zeros({2});
  EXPECT_OK(check_model_output(output_, batch_, 2));
  output_.targets = at::ones({});
  EXPECT_THAT(check_model_output(output_, batch_, 2),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("count_targets")));
}

TEST_F(ModelOutputCheckTest, Predictions) {
  for (const at::Tensor& predictions :
       {at::Tensor(), at::zeros({3}), at::zeros({2, 2}), at::zeros({3, 2, 1})}) {
    output_.predictions = predictions;
    expect_refused("[batch, tasks] with batch = 3");
  }
}

TEST_F(ModelOutputCheckTest, Targets) {
  output_.targets = at::ones({3});
  expect_refused("targets are not one number");
}

TEST_F(ModelOutputCheckTest, Metrics) {
  output_.metrics = {{"fine", at::ones({})}, {"spread", at::ones({2})}};
  expect_refused("\"spread\"");
  output_.metrics[1].value = at::Tensor();
  expect_refused("\"spread\"");
}

class CountingModel : public Model {
 public:
  explicit CountingModel(std::function<absl::StatusOr<std::vector<int64_t>>()> count)
      : count_(std::move(count)) {}
  absl::StatusOr<ModelOutput> forward(const Batch&) override { return ModelOutput(); }
  absl::StatusOr<std::vector<int64_t>> count_targets(const Batch&) override { return count_(); }

 private:
  std::function<absl::StatusOr<std::vector<int64_t>>()> count_;
};

TEST(CountTargetsTest, WhatTheModelMayReturn) {
  Batch batch;
  batch.size = 3;
  batch.labels = at::zeros({3, 2});
  const auto count = [&](std::vector<int64_t> targets) {
    CountingModel model([=] { return targets; });
    return count_targets(model, batch);
  };
  EXPECT_THAT(*count({}), IsEmpty());
  EXPECT_THAT(*count({0, 7}), ElementsAre(0, 7));
  EXPECT_THAT(count({3}).status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                            HasSubstr("of 1 tasks, but there are 2")));
  EXPECT_THAT(count({1, -2}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("-2 targets")));
}

TEST(CountTargetsTest, ErrorsAndExceptionsAreReturned) {
  Batch batch;
  CountingModel fails([] { return absl::DataLossError("planted"); });
  EXPECT_THAT(count_targets(fails, batch).status(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("planted")));
  CountingModel throws(
      []() -> absl::StatusOr<std::vector<int64_t>> { throw std::runtime_error("thrown"); });
  EXPECT_THAT(count_targets(throws, batch).status(),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("thrown")));
}

TEST(TargetFactorsTest, OneOverTargets) {
  EXPECT_TRUE(at::equal(target_factors({4, 0, 1}), at::tensor({0.25f, 0.0f, 1.0f})));
}

at::Tensor number(double value) { return at::scalar_tensor(value); }

TEST(StepValuesTest, OneValueStaysAsItIs) {
  const at::Tensor value = number(3).set_requires_grad(true);
  const std::vector<StepValue> values = step_values({{"a", value * 1}});
  ASSERT_EQ(values.size(), 1);
  EXPECT_EQ(values[0].name, "a");
  EXPECT_EQ(values[0].value.item<double>(), 3);
  EXPECT_FALSE(values[0].value.requires_grad());
  EXPECT_EQ(values[0].reduction, Reduction::kMean);
  EXPECT_FALSE(values[0].weight.defined());
}

TEST(StepValuesTest, EachReduction) {
  std::vector<NamedValue> reported;
  for (const double value : {2.0, 6.0, 1.0}) {
    reported.push_back({"mean", number(value)});
    reported.push_back({"sum", number(value), Reduction::kSum});
    reported.push_back({"min", number(value), Reduction::kMin});
    reported.push_back({"max", number(value), Reduction::kMax});
    reported.push_back({"last", number(value), Reduction::kLast});
  }
  const std::vector<StepValue> values = step_values(reported);
  ASSERT_EQ(values.size(), 5);
  EXPECT_EQ(values[0].value.item<double>(), 3);
  EXPECT_EQ(values[0].weight.item<double>(), 3) << "of three micro-batches";
  EXPECT_EQ(values[1].value.item<double>(), 9);
  EXPECT_EQ(values[2].value.item<double>(), 1);
  EXPECT_EQ(values[3].value.item<double>(), 6);
  EXPECT_EQ(values[4].value.item<double>(), 1);
}

TEST(StepValuesTest, MeansAreWeighted) {
  const std::vector<StepValue> values =
      step_values({{"a", number(1), Reduction::kMean, number(1)},
                   {"a", number(5), Reduction::kMean, number(3)},
                   {"a", number(std::nan("")), Reduction::kMean, number(0)}});
  ASSERT_EQ(values.size(), 1);
  EXPECT_EQ(values[0].value.item<double>(), 4);
  EXPECT_EQ(values[0].weight.item<double>(), 4);
}

TEST(StepValuesTest, AMeanOfNothingIsNotANumber) {
  const NamedValue none{"a", number(7), Reduction::kMean, number(0)};
  const std::vector<StepValue> values = step_values({none, none});
  EXPECT_TRUE(std::isnan(values[0].value.item<double>()));
  EXPECT_EQ(values[0].weight.item<double>(), 0);
}

TEST(StepValuesTest, NotANumberIsAsInTheReport) {
  const at::Tensor none = number(std::numeric_limits<double>::quiet_NaN());
  for (const Reduction reduction : {Reduction::kMean, Reduction::kMin, Reduction::kMax}) {
    const std::vector<StepValue> values =
        step_values({{"a", none, reduction}, {"a", number(1), reduction}});
    EXPECT_TRUE(std::isnan(values[0].value.item<double>())) << reduction_name(reduction);
  }
}

}  // namespace
}  // namespace millrace
