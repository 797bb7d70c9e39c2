#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "io/transform/number_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(ThresholdTransformTest, IsInclusive) {
  ThresholdTransform config;
  config.set_at_least(4);
  const auto transform = make_threshold_transform(config);
  EXPECT_EQ(transform->gives(ValueType::kInt64), ValueType::kDouble);
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_THAT(apply_to_numbers(*transform, {3.999, 4, 4.001, -infinity, infinity}).numbers,
              ElementsAre(0, 1, 1, 0, 1));
  EXPECT_THAT(apply_to_ids(*transform, id_column({3, 4})).numbers, ElementsAre(0, 1));
}

}  // namespace
}  // namespace millrace
