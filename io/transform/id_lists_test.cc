#include "io/transform/id_lists.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/transform/transform_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(MakeJaggedTest, WritesTheOffsetsOut) {
  IdColumn column = id_column({7, 8});
  make_jagged(&column);
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 2));
  make_jagged(&column);
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 2));
}

TEST(KeepValuesTest, LeavesOutTheOthers) {
  IdColumn column = id_lists({{1, 2}, {3}});
  column.weights = {4, 5, 6};
  keep_values({1, 1, 1}, &column);
  EXPECT_EQ(column.values.size(), 3u);
  keep_values({0, 1, 0}, &column);
  EXPECT_THAT(column.values, ElementsAre(2));
  EXPECT_THAT(column.weights, ElementsAre(5));
  EXPECT_THAT(column.offsets, ElementsAre(0, 1, 1));
}

TEST(IdListBuilderTest, BuildsRowByRow) {
  IdListBuilder weighted(id_column({0, 0}), /*weighted=*/true);
  weighted.add(5, 2);
  weighted.add(6, 1);
  weighted.end_row();
  EXPECT_EQ(weighted.row_begin(), 2);
  weighted.add_weight(0, 3);
  weighted.end_row();
  const IdColumn built = weighted.take();
  EXPECT_EQ(built.rows, 2);
  EXPECT_THAT(built.values, ElementsAre(5, 6));
  EXPECT_THAT(built.weights, ElementsAre(5, 1));
  EXPECT_THAT(built.offsets, ElementsAre(0, 2, 2));

  IdListBuilder plain(id_column({0}), /*weighted=*/false);
  plain.add(5, 2);
  plain.end_row();
  EXPECT_THAT(plain.take().weights, IsEmpty());
}

}  // namespace
}  // namespace millrace
