#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/transform/number_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(BucketizeTransformTest, CountsBoundariesUpTo) {
  BucketizeTransform config;
  for (const double boundary : {0.0, 1.0, 10.0}) config.add_boundary(boundary);
  const auto transform = make_bucketize_transform(config);
  EXPECT_EQ(transform->takes(), Transform::Takes::kNumbers);
  EXPECT_EQ(transform->gives(ValueType::kDouble), ValueType::kInt64);
  const FeatureValues values = apply_to_numbers(*transform, {-5, 0, 0.5, 1, 10, 1e300});
  EXPECT_TRUE(values.are_ids);
  EXPECT_THAT(values.list.values, ElementsAre(0, 1, 1, 2, 3, 3));
}

TEST(BucketizeTransformTest, IntegersAreNumbers) {
  BucketizeTransform config;
  config.add_boundary(3);
  const FeatureValues values =
      apply_to_ids(*make_bucketize_transform(config), id_column({2, 3, -7}));
  EXPECT_THAT(values.list.values, ElementsAre(0, 1, 0));
}

}  // namespace
}  // namespace millrace
