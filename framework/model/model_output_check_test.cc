#include "framework/model/model_output_check.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
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

}  // namespace
}  // namespace millrace
