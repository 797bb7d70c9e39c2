#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/transform/number_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

StandardizeTransform config_of(double mean, double standard_deviation) {
  StandardizeTransform config;
  config.set_mean(mean);
  config.set_standard_deviation(standard_deviation);
  return config;
}

TEST(StandardizeTransformTest, SubtractsTheMeanAndDividesByTheDeviation) {
  const auto transform = make_standardize_transform(config_of(3, 2));
  EXPECT_EQ(transform->takes(), Transform::Takes::kNumbers);
  EXPECT_EQ(transform->gives(ValueType::kInt64), ValueType::kDouble);
  EXPECT_THAT(apply_to_numbers(*transform, {3, 5, 0.5}).numbers, ElementsAre(0, 1, -1.25));
}

TEST(StandardizeTransformTest, TakesIntegers) {
  const auto transform = make_standardize_transform(config_of(-1, 4));
  const FeatureValues values = apply_to_ids(*transform, id_column({-1, 7}));
  EXPECT_FALSE(values.are_ids);
  EXPECT_THAT(values.numbers, ElementsAre(0, 2));
}

TEST(StandardizeTransformTest, GivesTheNearestNumber) {
  // 49 * (1 / 49) is below 1.
  const auto transform = make_standardize_transform(config_of(0, 49));
  EXPECT_THAT(apply_to_numbers(*transform, {49}).numbers, ElementsAre(1));
}

}  // namespace
}  // namespace millrace
