#include "io/transform/create_transform.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

// A kind without a class would be a crash of every job that uses it.
TEST(CreateTransformTest, EveryKindHasAClass) {
  const google::protobuf::Descriptor& descriptor = *TransformConfig::descriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    TransformConfig config;
    config.GetReflection()->MutableMessage(&config, descriptor.field(i));
    EXPECT_NE(create_transform(config, 0), nullptr) << descriptor.field(i)->name();
  }
}

TEST(CreateTransformTest, TheConfigurationIsPassedOn) {
  TransformConfig config;
  config.mutable_modulo()->set_divisor(10);
  EXPECT_THAT(apply_to_ids(*create_transform(config, 0), id_column({23})).list.values,
              ElementsAre(3));
}

}  // namespace
}  // namespace millrace
