#include "embedding/table/pooling.h"

#include <cmath>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

// Lists {0, 1}, {}, {2}, {3, 3}. Offsets begin at 100, like the offsets of a later feature.
class PoolingTest : public testing::Test {
 protected:
  IdLists lists(Pooling pooling, absl::Span<const float> weights = {}) const {
    IdLists lists;
    lists.ids = ids_;
    lists.offsets = offsets_;
    lists.weights = weights;
    lists.pooling = pooling;
    return lists;
  }

  std::vector<int64_t> ids_ = {0, 1, 2, 3, 3};
  std::vector<int64_t> offsets_ = {100, 102, 102, 103, 105};
  const std::vector<float> weights_ = {2, 0.5, -1, 1, 0};
};

TEST_F(PoolingTest, Bounds) {
  EXPECT_EQ(lists(SUM).batch(), 4);
  EXPECT_EQ(lists(SUM).begin(0), 0);
  EXPECT_EQ(lists(SUM).end(0), 2);
  EXPECT_EQ(lists(SUM).begin(3), 3);
  EXPECT_EQ(lists(SUM).end(3), 5);
}

TEST_F(PoolingTest, Divisors) {
  EXPECT_EQ(lists(SUM).divisor(0), 1);
  EXPECT_EQ(lists(MEAN).divisor(0), 2);
  EXPECT_EQ(lists(MEAN).divisor(2), 1);
  EXPECT_EQ(lists(SQUARE_ROOT_N).divisor(0), std::sqrt(2.0f));
  EXPECT_EQ(lists(SQUARE_ROOT_N).divisor(2), 1);
}

TEST_F(PoolingTest, Coefficients) {
  EXPECT_EQ(lists(MEAN).coefficient(0, 1), 0.5);
  EXPECT_EQ(lists(MEAN, weights_).coefficient(0, 0), 1);
  EXPECT_EQ(lists(MEAN, weights_).coefficient(2, 2), -1);
  EXPECT_EQ(lists(SUM, weights_).coefficient(0, 0), 2);
  EXPECT_EQ(lists(NONE, weights_).coefficient(0, 0), 1);
  EXPECT_DOUBLE_EQ(lists(SQUARE_ROOT_N, weights_).coefficient(0, 0), 2 / double{std::sqrt(2.0f)});
}

TEST_F(PoolingTest, OnlyListsOfOneIdWithoutWeightsAreCopies) {
  EXPECT_FALSE(lists(SUM).copies());
  EXPECT_TRUE(lists(NONE, weights_).copies());
  offsets_ = {3, 4, 5, 6, 7, 8};
  EXPECT_TRUE(lists(SUM).copies());
  EXPECT_TRUE(lists(MEAN).copies());
  EXPECT_TRUE(lists(SQUARE_ROOT_N).copies());
  EXPECT_FALSE(lists(SUM, weights_).copies());
  offsets_ = {3, 4, 4, 6, 7, 8};  // as many lists as ids
  EXPECT_FALSE(lists(SUM).copies());
  // copies() does not verify one_id_each.
  IdLists looked_at = lists(SUM);
  looked_at.one_id_each = true;
  EXPECT_TRUE(looked_at.copies());
  looked_at.weights = weights_;
  EXPECT_FALSE(looked_at.copies());
  looked_at.pooling = NONE;
  looked_at.one_id_each = false;
  EXPECT_TRUE(looked_at.copies());
  ids_ = {};
  offsets_ = {7};
  EXPECT_TRUE(lists(SUM).copies());
}

TEST_F(PoolingTest, FirstRowsAreAsTheyAre) {
  IdLists first = lists(FIRST_N, weights_);
  first.first_n = 3;
  EXPECT_EQ(first.width(), 3);
  EXPECT_FALSE(first.weighted());
  EXPECT_EQ(first.coefficient(0, 1), 1);
  EXPECT_EQ(lists(MEAN).width(), 1);
  EXPECT_TRUE(lists(MEAN, weights_).weighted());
  EXPECT_FALSE(lists(NONE, weights_).weighted());
}

}  // namespace
}  // namespace millrace
