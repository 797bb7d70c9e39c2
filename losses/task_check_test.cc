#include "losses/task_check.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kTwoLabels[] = R"pb(
  feature { name: "click" kind: LABEL }
  feature { name: "watch_time" kind: LABEL }
)pb";
constexpr char kGroups[] = "feature { name: \"user\" kind: GROUP_ID }";

absl::Status check(const std::string& text) {
  TrainConfig train;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &train)) << text;
  return check_tasks("train", train);
}

TEST(TaskCheckTest, FittingTasks) {
  EXPECT_OK(check(kTwoLabels));
  EXPECT_OK(check(absl::StrCat(kTwoLabels, R"(task { label: "click" focal {} })")));
  EXPECT_OK(check(absl::StrCat(
      kTwoLabels, R"(task { label: "watch_time" huber {} } task { label: "click" pairwise {} }
                     binary_labels: false )",
      kGroups)));
  EXPECT_OK(check("feature { name: \"y\" kind: LABEL } task { weight: 2 }"));
}

TEST(TaskCheckTest, WhatDoesNotFitIsNamed) {
  const auto refused = [](absl::string_view tasks, auto message) {
    EXPECT_THAT(check(absl::StrCat(kTwoLabels, tasks)),
                StatusIs(absl::StatusCode::kInvalidArgument, message))
        << tasks;
  };
  refused("task { focal {} }",
          AllOf(HasSubstr("train.task[0]: label is missing"), HasSubstr("click, watch_time")));
  refused(R"(task { label: "clik" })",
          AllOf(HasSubstr("train.task[0] \"clik\""), HasSubstr("did you mean \"click\"?")));
  refused(R"(task { label: "click" } task { label: "click" })",
          HasSubstr("train.task[1] \"click\": label \"click\" has a task before it"));
  refused(R"(task { label: "click" weight: -1 })", HasSubstr("train.task[0] \"click\": weight is"));
  refused(R"(task { label: "click" pairwise {} })",
          AllOf(HasSubstr("pairwise"), HasSubstr("GROUP_ID")));
  refused(R"(task { label: "click" softmax {} })",
          AllOf(HasSubstr("softmax"), HasSubstr("GROUP_ID")));
  for (const char* loss : {"mean_squared_error", "mean_absolute_error", "huber"}) {
    refused(absl::StrCat(R"(task { label: "watch_time" )", loss, " {} }"),
            AllOf(HasSubstr("train.task[0] \"watch_time\""), HasSubstr(loss),
                  HasSubstr("binary_labels: false")));
  }
}

TEST(TaskCheckTest, ALabelNamedOnceAndLeftOutOnce) {
  EXPECT_THAT(check("feature { name: \"y\" kind: LABEL } task {} task { label: \"y\" }"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("has a task before it")));
}

TEST(TaskCheckTest, OneTaskForEachLabel) {
  TaskConfig task;
  task.set_label("b");
  task.set_weight(3);
  task.mutable_focal();
  std::vector<FeatureConfig> labels(3);
  for (size_t i = 0; i < labels.size(); ++i) {
    labels[i].set_kind(FeatureConfig::LABEL);
    labels[i].set_name(std::string(1, static_cast<char>('a' + i)));
  }
  ASSERT_OK_AND_ASSIGN(const std::vector<TaskConfig> tasks,
                       tasks_of_labels("train", {task}, labels, /*binary_labels=*/true));
  ASSERT_EQ(tasks.size(), 3u);
  EXPECT_EQ(tasks[0].label(), "a");
  EXPECT_EQ(tasks[0].weight(), 1);
  EXPECT_EQ(tasks[1].label(), "b");
  EXPECT_EQ(tasks[1].weight(), 3);
  EXPECT_TRUE(tasks[1].has_focal());
  EXPECT_EQ(tasks[2].label(), "c");
}

}  // namespace
}  // namespace millrace
