#include "io/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Block four_rows() {
  Block block;
  block.sparse = {{.rows = 4, .offsets = {}, .values = {10, 11, 12, 13}},
                  {.rows = 4,
                   .offsets = {0, 2, 2, 3, 5},
                   .values = {20, 21, 22, 23, 24},
                   .weights = {1, 2, 3, 4, 5}}};
  block.dense = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  block.labels = {{0, 1, 0, 1}};
  block.example_ids = {100, 101, 102, 103};
  block.order = {{3, 7}, {0, 9}, {1, 12}};
  return block;
}

TEST(BlockTest, RowsThatNobodyReadsAreTakenOut) {
  Block block = four_rows();
  block.weights = {1, 2, 3, 4};
  put_in_order(&block);
  EXPECT_EQ(block.sparse[0].rows, 3);
  EXPECT_THAT(block.sparse[0].offsets, IsEmpty());
  EXPECT_THAT(block.sparse[0].values, ElementsAre(13, 10, 11));
  EXPECT_THAT(block.sparse[1].offsets, ElementsAre(0, 2, 4, 4));
  EXPECT_THAT(block.sparse[1].values, ElementsAre(23, 24, 20, 21));
  EXPECT_THAT(block.sparse[1].weights, ElementsAre(4, 5, 1, 2));
  EXPECT_THAT(block.dense, ElementsAre(ElementsAre(3, 0, 1), ElementsAre(7, 4, 5)));
  EXPECT_THAT(block.labels, ElementsAre(ElementsAre(1, 0, 1)));
  EXPECT_THAT(block.weights, ElementsAre(4, 1, 2));
  EXPECT_THAT(block.example_ids, ElementsAre(103, 100, 101));
  EXPECT_THAT(block.group_ids, IsEmpty());
  ASSERT_EQ(block.order.size(), 3u);
  for (int32_t i = 0; i < 3; ++i) EXPECT_EQ(block.order[i].row, i);
  EXPECT_EQ(block.order[1].position, 9) << "places in the epoch stay";
}

TEST(BlockTest, KeptColumnsFollow) {
  Block block = four_rows();
  Column column;
  column.rows = 4;
  column.int64s = {5, 6, 7};
  column.offsets = {0, 1, 2, 2, 3};
  block.kept = {column};
  put_in_order(&block);
  EXPECT_EQ(block.kept[0].rows, 3);
  EXPECT_THAT(block.kept[0].int64s, ElementsAre(7, 5, 6));
}

TEST(BlockTest, NothingMayBeLeft) {
  Block block = four_rows();
  block.order.clear();
  put_in_order(&block);
  EXPECT_THAT(block.sparse[0].values, IsEmpty());
  EXPECT_THAT(block.sparse[1].offsets, ElementsAre(0));
  EXPECT_THAT(block.example_ids, IsEmpty());
}

}  // namespace
}  // namespace millrace
