#include "framework/model_output_check.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class ModelOutputCheckTest : public testing::Test {
 protected:
  ModelOutputCheckTest() {
    batch_.size = 3;
    output_.loss = at::zeros({});
    output_.predictions = at::zeros({3, 2});
  }
  void expect_refused(const char* what) {
    EXPECT_THAT(check_model_output(output_, batch_),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(what)));
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

}  // namespace
}  // namespace millrace
