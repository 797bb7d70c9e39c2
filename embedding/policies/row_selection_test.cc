#include "embedding/policies/row_selection.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "base/hash.h"
#include "embedding/rows/placement.h"

namespace millrace {
namespace {

struct TestRow {
  int64_t id = 0;
  int64_t frequency = 0;
  int64_t last_step = 0;
};

std::set<int64_t> select(EvictionOrder order, int64_t count, const std::vector<TestRow>& rows,
                         int world_size) {
  RowSelection selection(order, count);
  int rounds = 0;
  while (!selection.done()) {
    RowSelection::Counts sums = {};
    for (int rank = 0; rank < world_size; ++rank) {
      RowSelection::Counts counts = {};
      for (const TestRow& row : rows) {
        if (Placement::owner(row.id, world_size) != rank) continue;
        selection.count(row_key(order, row.id, row.frequency, row.last_step), counts);
      }
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += counts[i];
    }
    selection.narrow(sums);
    EXPECT_LE(++rounds, 16);
  }
  std::set<int64_t> ids;
  for (const TestRow& row : rows) {
    if (selection.selects(row_key(order, row.id, row.frequency, row.last_step))) ids.insert(row.id);
  }
  return ids;
}

TEST(RowSelectionTest, SelectsTheRowsThatOneRankWould) {
  std::mt19937_64 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const auto order = trial % 2 == 0 ? EvictionOrder::kLeastRecent : EvictionOrder::kLeastFrequent;
    const int64_t size = 1 + static_cast<int64_t>(random() % 300);
    // Few values, so that many rows differ only in their hash; some values exceed 32 bits.
    const int64_t values = trial % 3 == 0 ? 1 : int64_t{1} << (random() % 36);
    std::vector<TestRow> rows;
    for (int64_t id = 0; id < size; ++id) {
      rows.push_back({id * 77 - 1000, static_cast<int64_t>(random() % values),
                      static_cast<int64_t>(random() % values)});
    }
    const int64_t count = 1 + static_cast<int64_t>(random() % size);
    LeastRows least(order, count);
    for (size_t i = 0; i < rows.size(); ++i) {
      least.add(static_cast<RowIndex>(i), rows[i].id, rows[i].frequency, rows[i].last_step);
    }
    std::set<int64_t> expected;
    for (const RowIndex row : least.take()) expected.insert(rows[row].id);
    ASSERT_EQ(expected.size(), count);
    for (const int world_size : {1, 2, 3, 5}) {
      ASSERT_EQ(select(order, count, rows, world_size), expected) << trial << ", " << world_size;
    }
  }
}

}  // namespace
}  // namespace millrace
