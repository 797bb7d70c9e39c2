#include "models/click_inputs.h"

#include "base/status_matchers.h"
#include "models/model_data_testing.h"
#include "proto/model_configs.pb.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ClickInputsTest, Counts) {
  ASSERT_OK_AND_ASSIGN(const ClickInputs inputs,
                       check_click_inputs(model_test_resources(model_test_config(3, 2, 4))));
  EXPECT_EQ(inputs.sparse, 3);
  EXPECT_EQ(inputs.dense, 2);
  EXPECT_EQ(inputs.dim, 4);
}

TEST(ClickInputsTest, FeaturesMayShareATable) {
  TrainConfig job = model_test_config(3, 0, 4);
  job.mutable_feature(2)->set_table("s0");
  job.mutable_feature(1)->set_pooling(MEAN);
  EXPECT_OK(check_click_inputs(model_test_resources(job)));
}

TEST(ClickInputsTest, WhatDoesNotFitIsNamed) {
  const auto refused = [](const TrainConfig& job, auto message) {
    EXPECT_THAT(check_click_inputs(model_test_resources(job)),
                StatusIs(absl::StatusCode::kInvalidArgument, message));
  };
  refused(model_test_config(0, 1, 4), HasSubstr("at least one sparse feature"));

  TrainConfig job = model_test_config(2, 1, 4);
  job.mutable_feature(1)->set_pooling(NONE);
  refused(job, AllOf(HasSubstr("\"s1\""), HasSubstr("NONE")));

  job = model_test_config(2, 1, 4);
  job.mutable_feature(1)->set_pooling(FIRST_N);
  job.mutable_feature(1)->set_max_ids(3);
  refused(job, HasSubstr("feature \"s1\" has pooling FIRST_N, 3 rows side by side"));

  job = model_test_config(2, 1, 4);
  job.mutable_feature(1)->set_table("gone");
  refused(job, AllOf(HasSubstr("\"s1\""), HasSubstr("\"gone\"")));

  job = model_test_config(2, 1, 4);
  job.mutable_table(1)->set_dim(5);
  refused(job, AllOf(HasSubstr("\"s0\" has dim 4"), HasSubstr("\"s1\" has dim 5")));
}

TEST(ClickInputsTest, OnlyTheOwnMessage) {
  ModelConfig config;
  EXPECT_OK(check_only_message(config, "millrace.deepfm"));
  config.MutableExtension(deepfm);
  EXPECT_OK(check_only_message(config, "millrace.deepfm"));
  EXPECT_THAT(check_only_message(config, "millrace.dlrm"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("[millrace.deepfm]")));
}

}  // namespace
}  // namespace millrace
