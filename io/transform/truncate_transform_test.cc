#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "io/transform/id_transforms.h"
#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<Transform> truncate(int64_t count, TruncateTransform::Keep keep) {
  TruncateTransform config;
  config.set_count(count);
  config.set_keep(keep);
  return make_truncate_transform(config);
}

IdColumn weighted_lists() {
  IdColumn column = id_lists({{1, 2, 3}, {}, {4}});
  column.weights = {10, 20, 30, 40};
  return column;
}

TEST(TruncateTransformTest, KeepsTheFirstWithTheirWeights) {
  const auto transform = truncate(2, TruncateTransform::FIRST);
  EXPECT_EQ(transform->takes(), Transform::Takes::kIntegers);
  const IdColumn kept = apply_to_ids(*transform, weighted_lists()).list;
  EXPECT_THAT(kept.values, ElementsAre(1, 2, 4));
  EXPECT_THAT(kept.weights, ElementsAre(10, 20, 40));
  EXPECT_THAT(kept.offsets, ElementsAre(0, 2, 2, 3));
}

TEST(TruncateTransformTest, KeepsTheLastWithTheirWeights) {
  const IdColumn kept = apply_to_ids(*truncate(2, TruncateTransform::LAST), weighted_lists()).list;
  EXPECT_THAT(kept.values, ElementsAre(2, 3, 4));
  EXPECT_THAT(kept.weights, ElementsAre(20, 30, 40));
}

TEST(TruncateTransformTest, ALargeCountKeepsAll) {
  for (const auto keep : {TruncateTransform::FIRST, TruncateTransform::LAST}) {
    const auto transform = truncate(std::numeric_limits<int64_t>::max(), keep);
    EXPECT_THAT(apply_to_ids(*transform, weighted_lists()).list.values, ElementsAre(1, 2, 3, 4));
  }
}

TEST(TruncateTransformTest, OneIdARowStays) {
  EXPECT_THAT(apply_to_ids(*truncate(1, TruncateTransform::LAST), id_column({3, 4})).list.values,
              ElementsAre(3, 4));
}

}  // namespace
}  // namespace millrace
