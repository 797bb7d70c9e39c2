#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "io/transform/number_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

ClipTransform config_of(double min, double max) {
  ClipTransform config;
  config.set_min(min);
  config.set_max(max);
  return config;
}

TEST(ClipTransformTest, GivesTheNearestInTheRange) {
  const auto transform = make_clip_transform(config_of(0, 1));
  EXPECT_EQ(transform->gives(ValueType::kInt64), ValueType::kDouble);
  EXPECT_THAT(apply_to_numbers(*transform, {-5, 0.25, 7}).numbers, ElementsAre(0, 0.25, 1));
}

TEST(ClipTransformTest, OneSideMayBeOpen) {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto transform = make_clip_transform(config_of(-infinity, 3));
  EXPECT_THAT(apply_to_ids(*transform, id_column({-5, 7})).numbers, ElementsAre(-5, 3));
}

}  // namespace
}  // namespace millrace
