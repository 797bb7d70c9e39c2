#include "losses/loss_registry.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace millrace
