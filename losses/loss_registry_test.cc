#include "losses/loss_registry.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(LossRegistryTest, EveryLossHasTheNameOfItsField) {
  const google::protobuf::OneofDescriptor* losses =
      TaskConfig::descriptor()->FindOneofByName("loss");
  ASSERT_NE(losses, nullptr);
  ASSERT_GE(losses->field_count(), 7);
  for (int i = 0; i < losses->field_count(); ++i) {
    if (losses->field(i)->name() == "custom") continue;
    TaskConfig task;
    task.GetReflection()->MutableMessage(&task, losses->field(i));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Loss> loss, create_loss(task));
    EXPECT_EQ(std::string(loss->name()), std::string(losses->field(i)->name()));
  }
}

TEST(LossRegistryTest, TheDefaultIsBinaryCrossEntropy) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Loss> loss, create_loss(TaskConfig()));
  EXPECT_EQ(loss->name(), "binary_cross_entropy");
}

class ZeroLoss : public Loss {
 public:
  absl::string_view name() const override { return "zero"; }
  at::Tensor sum(const at::Tensor& outputs, const LossExamples&) const override {
    return 0 * outputs.sum();
  }
};
MILLRACE_REGISTER_LOSS(zero, "nothing",
                       [](const CustomConfig&) { return std::make_unique<ZeroLoss>(); });

TEST(LossRegistryTest, ARegisteredLossIsMadeByName) {
  TaskConfig task;
  task.mutable_custom()->set_name("zero");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Loss> loss, create_loss(task));
  EXPECT_EQ(loss->name(), "zero");
  task.mutable_custom()->set_name("zeros");
  EXPECT_THAT(create_loss(task), StatusIs(absl::StatusCode::kInvalidArgument,
                                          testing::HasSubstr("did you mean \"zero\"?")));
}

using ::testing::HasSubstr;

TaskConfig parse(const std::string& text) {
  TaskConfig task;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &task)) << text;
  return task;
}

TEST(LossCheckTest, NumbersInRange) {
  for (const char* text :
       {"", "weight: 1e-9", "binary_cross_entropy { label_smoothing: 0.99 positive_weight: 100 }",
        "focal { gamma: 0 alpha: 0 }", "focal { alpha: 1 }", "pairwise {}",
        "softmax { temperature: 0.01 }", "mean_squared_error {}", "mean_absolute_error {}",
        "huber { delta: 0.1 }"}) {
    EXPECT_OK(check_loss("t", parse(text))) << text;
    EXPECT_OK(create_loss(parse(text)).status()) << text;
  }
}

TEST(LossCheckTest, NumbersOutOfRangeAreNamed) {
  const auto refused = [](const char* text, const char* message) {
    EXPECT_THAT(check_loss("train.task[0]", parse(text)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
    EXPECT_THAT(create_loss(parse(text)).status(), StatusIs(absl::StatusCode::kInvalidArgument))
        << text;
  };
  refused("weight: 0", "train.task[0]: weight is 0; must be");
  refused("binary_cross_entropy { label_smoothing: 1 }",
          "train.task[0].binary_cross_entropy: label_smoothing is 1; must be");
  refused("focal { gamma: -1 }", "train.task[0].focal: gamma is -1");
  refused("focal { alpha: 1.5 }", "train.task[0].focal: alpha is 1.5; must be in [0, 1]");
  refused("softmax { temperature: 0 }", "train.task[0].softmax: temperature is 0");
  refused("huber { delta: -2 }", "train.task[0].huber: delta is -2");
}

}  // namespace
}  // namespace millrace
