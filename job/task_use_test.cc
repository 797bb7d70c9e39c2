#include "job/task_use.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "framework/model/model_registry.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

absl::StatusOr<std::shared_ptr<Model>> make_none(const ModelConfig&, const ModelResources&) {
  return absl::UnimplementedError("");
}
const bool kReader = register_model("reader", &make_none, ModelLabels::kOfTasks);
const bool kOther = register_model("other", &make_none);
const bool kProbabilities = register_model("click", &make_none, ModelLabels::kProbabilities);

absl::Status check(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return check_task_use(train);
}

TEST(TaskUseCheckTest, WhatFits) {
  EXPECT_TRUE(kReader && kOther && kProbabilities);
  EXPECT_OK(check(R"(model { name: "other" })"));
  EXPECT_OK(check(R"(model { name: "reader" } task { focal {} })"));
  EXPECT_OK(check(R"(model { name: "reader" } task { huber {} } metric: "auc" metric: "mean")"));
  EXPECT_OK(check(R"(model { name: "reader" } task { label: "a" } metric: "logloss")"));
}

TEST(TaskUseCheckTest, AModelThatReadsNoTasks) {
  EXPECT_THAT(check(R"(model { name: "other" } task { label: "click" focal {} })"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("train.task[0] \"click\""), HasSubstr("\"other\""),
                             ContainsRegex("models that do: (.*, )?reader"))));
}

TEST(TaskUseCheckTest, AMaskForAModelThatLeavesNoLabelOut) {
  const std::string masked = "feature { name: 'a' kind: LABEL missing: MASK } ";
  EXPECT_OK(check(masked + "model { name: 'reader' }"));
  EXPECT_OK(check(masked + "model { name: 'other' }")) << "it may leave out what is not-a-number";
  EXPECT_THAT(check(masked + "model { name: 'click' }"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("train.feature[0] \"a\": missing is MASK"),
                             ContainsRegex("models that do: (.*, )?reader"))));
}

TEST(TaskUseCheckTest, MetricsOfProbabilities) {
  for (const char* loss :
       {"pairwise", "softmax", "mean_squared_error", "mean_absolute_error", "huber"}) {
    const std::string task = absl::StrCat(
        R"(model { name: "reader" } task { label: "a" } task { label: "b" )", loss, " {} } ");
    EXPECT_THAT(check(task), StatusIs(absl::StatusCode::kInvalidArgument,
                                      AllOf(HasSubstr("train.task[1] \"b\""), HasSubstr(loss),
                                            HasSubstr("the default of train.metric"),
                                            HasSubstr("logloss, ne, calibration"),
                                            HasSubstr("metrics for it: auc, "))));
    EXPECT_THAT(check(task + R"(metric: "auc" metric: "ne")"),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("train.metric needs: ne")));
    EXPECT_THAT(check(task + R"(metric: "auc" eval_data { name: "late" metric: "calibration" })"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("train.eval_data[0] \"late\".metric needs: calibration")));
  }
}

TrainConfig config(const std::string& text) {
  EXPECT_TRUE(kReader && kOther && kProbabilities);
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      "feature { name: 'a' kind: LABEL } feature { name: 'b' kind: LABEL }" + text, &train));
  return train;
}

TEST(LabelRangesTest, BinaryLabelsAreBinaryForEveryModel) {
  for (const char* model : {"model { name: 'reader' }", "model { name: 'other' }"}) {
    EXPECT_EQ(label_range(config(model)), LabelRange::kBinary);
    EXPECT_THAT(label_ranges(config(model)), IsOkAndHolds(IsEmpty()));
  }
}

TEST(LabelRangesTest, TheModelDecidesWhereItDoesNotReadTasks) {
  const TrainConfig click = config("binary_labels: false model { name: 'click' }");
  EXPECT_EQ(label_range(click), LabelRange::kProbability);
  EXPECT_THAT(label_ranges(click), IsOkAndHolds(IsEmpty()));
  EXPECT_EQ(label_range(config("binary_labels: false model { name: 'other' }")), LabelRange::kAny);
}

TEST(LabelRangesTest, TheLossDecidesForItsLabel) {
  EXPECT_THAT(label_ranges(config(R"(binary_labels: false model { name: 'reader' }
                                     task { label: 'b' huber {} })")),
              IsOkAndHolds(UnorderedElementsAre(Pair("a", LabelRange::kProbability),
                                                Pair("b", LabelRange::kAny))));
  EXPECT_THAT(label_ranges(config(R"(binary_labels: false model { name: 'reader' }
                                     feature { name: 'g' kind: GROUP_ID }
                                     task { label: 'a' softmax {} }
                                     task { label: 'b' focal {} })")),
              IsOkAndHolds(UnorderedElementsAre(Pair("a", LabelRange::kNotNegative),
                                                Pair("b", LabelRange::kProbability))));
}

TEST(LabelRangesTest, ATaskOfNoLabel) {
  EXPECT_THAT(label_ranges(config(R"(binary_labels: false model { name: 'reader' }
                                     task { label: 'c' })"))
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("\"c\"")));
}

}  // namespace
}  // namespace millrace
