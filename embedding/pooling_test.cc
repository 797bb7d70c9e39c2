#include "embedding/pooling.h"

#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using testing::ElementsAre;

// Rows (1, 10), (2, 20), (4, 40), (8, 80) in lists {0, 1}, {}, {2}, {3, 3}; offsets begin at 100, as
// those of a later feature do.
class PoolingTest : public testing::Test {
 protected:
  std::vector<float> pooled(Pooling pooling, const std::vector<float>& weights, int64_t stride = 2) {
    IdLists lists;
    lists.ids = ids_;
    lists.offsets = offsets_;
    lists.weights = weights;
    lists.pooling = pooling;
    std::vector<const float*> rows;
    for (const int64_t id : ids_) rows.push_back(rows_[id].data());
    const int64_t count = pooling == NONE ? ids_.size() : lists.batch();
    std::vector<float> output(count * stride, -1);
    pool(lists, rows, 2, output.data(), stride);
    return output;
  }

  std::vector<std::vector<float>> rows_ = {{1, 10}, {2, 20}, {4, 40}, {8, 80}};
  std::vector<int64_t> ids_ = {0, 1, 2, 3, 3};
  std::vector<int64_t> offsets_ = {100, 102, 102, 103, 105};
};

TEST_F(PoolingTest, Sum) {
  EXPECT_THAT(pooled(SUM, {}), ElementsAre(3, 30, 0, 0, 4, 40, 16, 160));
}

TEST_F(PoolingTest, WeightedSum) {
  EXPECT_THAT(pooled(SUM, {2, 0.5, -1, 1, 0}), ElementsAre(3, 30, 0, 0, -4, -40, 8, 80));
}

TEST_F(PoolingTest, MeanDividesByTheLength) {
  EXPECT_THAT(pooled(MEAN, {}), ElementsAre(1.5, 15, 0, 0, 4, 40, 8, 80));
  EXPECT_THAT(pooled(MEAN, {2, 0.5, 3, 1, 0}), ElementsAre(1.5, 15, 0, 0, 12, 120, 4, 40));
}

TEST_F(PoolingTest, NoneKeepsRowsAndIgnoresWeights) {
  EXPECT_THAT(pooled(NONE, {}), ElementsAre(1, 10, 2, 20, 4, 40, 8, 80, 8, 80));
  EXPECT_EQ(pooled(NONE, {0, 0, 0, 0, 0}), pooled(NONE, {}));
}

TEST_F(PoolingTest, KeepsToItsColumns) {
  EXPECT_THAT(pooled(SUM, {}, 3), ElementsAre(3, 30, -1, 0, 0, -1, 4, 40, -1, 16, 160, -1));
}

TEST_F(PoolingTest, AnEmptyBatchPutsNothingOut) {
  offsets_ = {7};
  ids_ = {};
  EXPECT_THAT(pooled(SUM, {}), testing::IsEmpty());
  EXPECT_THAT(pooled(NONE, {}), testing::IsEmpty());
}

TEST_F(PoolingTest, Coefficients) {
  IdLists lists;
  lists.ids = ids_;
  lists.offsets = offsets_;
  const std::vector<float> weights = {2, 0.5, -1, 1, 0};
  lists.pooling = MEAN;
  EXPECT_EQ(lists.coefficient(0, 1), 0.5);
  lists.weights = weights;
  EXPECT_EQ(lists.coefficient(0, 0), 1);
  EXPECT_EQ(lists.coefficient(2, 2), -1);
  lists.pooling = SUM;
  EXPECT_EQ(lists.coefficient(0, 0), 2);
  lists.pooling = NONE;
  EXPECT_EQ(lists.coefficient(0, 0), 1);
}

}  // namespace
}  // namespace millrace
