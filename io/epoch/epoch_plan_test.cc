#include "io/epoch/epoch_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

std::vector<Unit> example_units() {
  return make_units(std::vector<std::vector<int64_t>>{{10, 0, 25}, {}, {7}, {12, 12, 12}}, 10);
}

// (file, group, row) of every row in the order of the epoch.
std::vector<std::vector<int64_t>> all_rows(const EpochPlan& plan) {
  std::vector<std::vector<int64_t>> rows;
  for (size_t b = 0; b < plan.blocks().size(); ++b) {
    std::vector<std::vector<int64_t>> in_block;
    for (const Unit& unit : plan.units(b)) {
      for (int64_t i = 0; i < unit.count; ++i) {
        in_block.push_back({unit.file, unit.group, unit.begin + i});
      }
    }
    for (const int32_t i : plan.row_order(b)) rows.push_back(in_block[i]);
  }
  return rows;
}

TEST(MakeUnitsTest, CutsLargeGroupsEvenlyAndSkipsEmptyOnes) {
  EXPECT_THAT(
      make_units(std::vector<std::vector<int64_t>>{{0, 25}, {10}}, 10),
      ElementsAre(Unit{0, 1, 0, 8}, Unit{0, 1, 8, 8}, Unit{0, 1, 16, 9}, Unit{1, 0, 0, 10}));
  EXPECT_TRUE(make_units({}, 10).empty());
}

TEST(PermutationTest, IsAPermutationThatDependsOnTheKeyAlone) {
  EXPECT_TRUE(permutation(0, 1).empty());
  EXPECT_THAT(permutation(1, 1), ElementsAre(0));
  std::vector<int32_t> order = permutation(1000, 5);
  EXPECT_EQ(order, permutation(1000, 5));
  EXPECT_NE(order, permutation(1000, 6));
  std::sort(order.begin(), order.end());
  for (int32_t i = 0; i < 1000; ++i) ASSERT_EQ(order[i], i);
}

// Part of results on disk (cursors): these numbers never change.
TEST(PermutationTest, Golden) {
  EXPECT_THAT(permutation(8, 42), ElementsAre(7, 0, 6, 2, 4, 1, 5, 3));
}

TEST(PermutationTest, EveryOrderIsEquallyLikely) {
  std::map<std::vector<int32_t>, int> counts;
  for (uint64_t key = 0; key < 24000; ++key) ++counts[permutation(4, key)];
  ASSERT_EQ(counts.size(), 24u);
  double chi_squared = 0;
  for (const auto& [order, count] : counts)
    chi_squared += (count - 1000.0) * (count - 1000.0) / 1000;
  EXPECT_LT(chi_squared, 50);  // 23 degrees of freedom: 1 in 1,000 is above 49.7
}

TEST(EpochPlanTest, KeepsTheOrderOfFilesWithoutShuffle) {
  const std::vector<Unit> units = example_units();
  const EpochPlan plan(units, 0, 1, 3);
  EXPECT_EQ(plan.blocks().size(), units.size());
  EXPECT_EQ(plan.rows(), 78);
  const auto rows = all_rows(plan);
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
}

TEST(EpochPlanTest, HoldsEveryRowOnceInAnyShuffle) {
  const auto expected = all_rows(EpochPlan(example_units(), 0, 1, 0));
  for (const int64_t shuffle_rows : {1, 9, 20, 50, 1000}) {
    for (int64_t epoch = 0; epoch < 5; ++epoch) {
      const EpochPlan plan(example_units(), shuffle_rows, 1, epoch);
      auto rows = all_rows(plan);
      EXPECT_NE(rows, expected);
      EXPECT_EQ(rows, all_rows(EpochPlan(example_units(), shuffle_rows, 1, epoch)));
      EXPECT_NE(rows, all_rows(EpochPlan(example_units(), shuffle_rows, 1, epoch + 1)));
      EXPECT_NE(rows, all_rows(EpochPlan(example_units(), shuffle_rows, 2, epoch)));
      std::sort(rows.begin(), rows.end());
      EXPECT_EQ(rows, expected);
    }
  }
}

TEST(EpochPlanTest, BlocksAreConsecutiveAndBounded) {
  const EpochPlan plan(example_units(), 20, 1, 0);
  int64_t position = 0, unit = 0;
  for (size_t b = 0; b < plan.blocks().size(); ++b) {
    const EpochPlan::Block& block = plan.blocks()[b];
    EXPECT_EQ(block.first_position, position);
    EXPECT_EQ(block.first_unit, unit);
    EXPECT_LE(block.rows, 20);
    for (int64_t p = position; p < position + block.rows; ++p) ASSERT_EQ(plan.block_at(p), b);
    position += block.rows;
    unit += block.unit_count;
  }
  EXPECT_EQ(position, plan.rows());
}

TEST(EpochPlanTest, KeepsTheRowsOfAFileTogether) {
  const EpochPlan plan(example_units(), 5, 1, 0);
  std::set<int64_t> done;
  int64_t open = -1;
  for (const auto& row : all_rows(plan)) {
    if (row[0] == open) continue;
    EXPECT_TRUE(done.insert(row[0]).second);
    open = row[0];
  }
}

TEST(EpochPlanTest, NoUnits) {
  const EpochPlan plan({}, 10, 1, 0);
  EXPECT_EQ(plan.rows(), 0);
  EXPECT_TRUE(plan.blocks().empty());
}

}  // namespace
}  // namespace millrace
