#include "io/transform/missing/is_missing_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(IsMissingTransformTest, TellsRowsWithoutAValue) {
  const auto transform = make_is_missing_transform();
  EXPECT_EQ(transform->takes(), Transform::Takes::kAny);
  EXPECT_EQ(transform->gives(ValueType::kString), ValueType::kInt64);
  const FeatureValues values = apply_to_ids(*transform, id_lists({{0}, {}, {7, 8}, {}}));
  EXPECT_TRUE(values.are_ids);
  EXPECT_EQ(values.list.rows, 4);
  EXPECT_THAT(values.list.values, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(values.list.offsets, IsEmpty()) << "one for each row";
}

TEST(IsMissingTransformTest, ColumnsOfOneValueARowMissNone) {
  const auto transform = make_is_missing_transform();
  EXPECT_THAT(apply_to_numbers(*transform, {0, 2.5}).list.values, ElementsAre(0, 0));
  EXPECT_THAT(apply_to_texts(*transform, {"", "a"}).list.values, ElementsAre(0, 0));
}

TEST(IsMissingTransformTest, WeightsOfTheValuesAreDropped) {
  IdColumn list = id_lists({{5, 6}, {}});
  list.weights = {2, 3};
  const FeatureValues values = apply_to_ids(*make_is_missing_transform(), list);
  EXPECT_THAT(values.list.values, ElementsAre(0, 1));
  EXPECT_THAT(values.list.weights, IsEmpty());
}

}  // namespace
}  // namespace millrace
