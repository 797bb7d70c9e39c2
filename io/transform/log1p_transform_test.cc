#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/transform/number_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

TEST(Log1pTransformTest, KeepsTheSign) {
  const auto transform = make_log1p_transform();
  EXPECT_EQ(transform->takes(), Transform::Takes::kNumbers);
  EXPECT_EQ(transform->gives(ValueType::kInt64), ValueType::kDouble);
  const FeatureValues values = apply_to_numbers(*transform, {0, 1, -1, 1e-20});
  EXPECT_FALSE(values.are_ids);
  EXPECT_THAT(values.numbers, ElementsAre(0, std::log(2.0), -std::log(2.0), 1e-20));
}

TEST(Log1pTransformTest, IntegersBecomeNumbers) {
  const FeatureValues values = apply_to_ids(*make_log1p_transform(), id_column({1}));
  EXPECT_FALSE(values.are_ids);
  EXPECT_THAT(values.numbers, ElementsAre(std::log(2.0)));
}

}  // namespace
}  // namespace millrace
