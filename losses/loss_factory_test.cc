#include "losses/loss_factory.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(LossFactoryTest, EveryLossHasTheNameOfItsField) {
  const google::protobuf::OneofDescriptor* losses =
      TaskConfig::descriptor()->FindOneofByName("loss");
  ASSERT_NE(losses, nullptr);
  ASSERT_GE(losses->field_count(), 7);
  for (int i = 0; i < losses->field_count(); ++i) {
    TaskConfig task;
    task.GetReflection()->MutableMessage(&task, losses->field(i));
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Loss> loss, create_loss(task));
    EXPECT_EQ(std::string(loss->name()), std::string(losses->field(i)->name()));
  }
}

TEST(LossFactoryTest, TheDefaultIsBinaryCrossEntropy) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Loss> loss, create_loss(TaskConfig()));
  EXPECT_EQ(loss->name(), "binary_cross_entropy");
}

}  // namespace
}  // namespace millrace
