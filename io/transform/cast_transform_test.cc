#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/status_matchers.h"
#include "io/bad_rows.h"
#include "io/transform/number_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

using ::testing::HasSubstr;

TEST(CastTransformTest, MakesWholeNumbersIntegers) {
  const auto transform = make_cast_transform();
  EXPECT_EQ(transform->takes(), Transform::Takes::kNumbers);
  const FeatureValues values = apply_to_numbers(*transform, {0, -3, 0x1p52});
  EXPECT_TRUE(values.are_ids);
  EXPECT_THAT(values.list.values, ElementsAre(0, -3, int64_t{1} << 52));
}

TEST(CastTransformTest, KeepsIntegers) {
  const auto transform = make_cast_transform();
  EXPECT_EQ(transform->gives(ValueType::kUint64), ValueType::kUint64);
  EXPECT_EQ(transform->gives(ValueType::kInt64), ValueType::kInt64);
  EXPECT_EQ(transform->gives(ValueType::kDouble), ValueType::kInt64);
  const int64_t large = (int64_t{1} << 60) + 1;
  EXPECT_THAT(apply_to_ids(*transform, id_column({large})).list.values, ElementsAre(large));
}

TEST(CastTransformTest, OtherNumbersAreBadRows) {
  Column column;
  column.type = ValueType::kDouble;
  column.rows = 3;
  column.doubles = {1.5, 2, 0x1p53};
  FeatureValues values;
  values.list.rows = 3;
  values.numbers = column.doubles;
  BadRows bad(3, /*skip=*/true);
  ASSERT_OK(make_cast_transform()->apply({column, {"a.csv", "c1"}, bad}, &values));
  EXPECT_THAT(values.list.values, ElementsAre(0, 2, 0));
  EXPECT_TRUE(bad.contains(0));
  EXPECT_FALSE(bad.contains(1));
  EXPECT_TRUE(bad.contains(2));
  EXPECT_THAT(bad.first(), StatusIs(absl::StatusCode::kDataLoss,
                                    HasSubstr("a.csv, row 0, column c1: 1.5 is no integer")));
}

}  // namespace
}  // namespace millrace
