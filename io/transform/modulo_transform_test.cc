#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/transform/id_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(ModuloTransformTest, TakesIdsAsUnsigned) {
  ModuloTransform config;
  config.set_divisor(10);
  const auto transform = make_modulo_transform(config);
  EXPECT_EQ(transform->takes(), Transform::Takes::kIntegers);
  const FeatureValues values = apply_to_ids(*transform, id_column({0, 7, 10, 23, -1}));
  EXPECT_THAT(values.list.values, ElementsAre(0, 7, 0, 3, 5));  // 2^64 - 1 ends in 5
}

}  // namespace
}  // namespace millrace
