#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "io/transform/id_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

using ::testing::IsEmpty;

TEST(UniqueTransformTest, TheFirstOfEqualOnesStays) {
  const auto transform = make_unique_transform();
  EXPECT_EQ(transform->takes(), Transform::Takes::kIntegers);
  IdColumn column = id_lists({{5, 7, 5, 5}, {7}, {}});
  const IdColumn kept = apply_to_ids(*transform, column).list;
  EXPECT_THAT(kept.values, ElementsAre(5, 7, 7));
  EXPECT_THAT(kept.offsets, ElementsAre(0, 2, 3, 3));
  EXPECT_THAT(kept.weights, IsEmpty());
  column.weights = {1, 2, 3, 4, 5};
  const IdColumn weighted = apply_to_ids(*transform, column).list;
  EXPECT_EQ(weighted.values, kept.values);
  EXPECT_THAT(weighted.weights, ElementsAre(8, 2, 5));
}

TEST(UniqueTransformTest, LongListsAndShortOnesAgree) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < 500; ++i) ids.push_back(i * i % 37);
  IdColumn column = id_lists({ids});
  column.weights.assign(500, 1);
  const IdColumn kept = apply_to_ids(*make_unique_transform(), column).list;
  std::vector<int64_t> expected;
  for (const int64_t id : ids) {
    if (std::find(expected.begin(), expected.end(), id) == expected.end()) expected.push_back(id);
  }
  EXPECT_EQ(kept.values, expected);
  float total = 0;
  for (const float weight : kept.weights) total += weight;
  EXPECT_EQ(total, 500);
}

}  // namespace
}  // namespace millrace
