#include "embedding/rows/row_store.h"

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(RowStoreTest, RecordsAreAlignedAndNeverMove) {
  RowStore store(5);
  store.set_slots({{"m", 5, 0.0f}, {"count", 1, 2.0f}});
  std::vector<float*> places;
  for (int64_t id = 0; id < 5000; ++id) {
    const RowIndex row = store.add(id);
    ASSERT_EQ(row, id);
    places.push_back(store.weights(row));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(places.back()) % 64, 0);
    *places.back() = static_cast<float>(id);
  }
  for (int64_t id = 0; id < 5000; ++id) {
    EXPECT_EQ(store.weights(id), places[id]);
    EXPECT_EQ(*store.weights(id), static_cast<float>(id));
    EXPECT_EQ(store.id(id), id);
    EXPECT_EQ(store.slots(id), places[id] + 5);
  }
}

TEST(RowStoreTest, WhatIsKeptAboutARowStandsBehindItWhereThereIsRoom) {
  for (const int64_t slot : {1, 14, 15, 16, 30, 31}) {
    RowStore store(16);
    store.set_slots({{"m", slot, 0.0f}});
    const int64_t content = 4 * (16 + slot), padding = (content + 63) / 64 * 64 - content;
    for (int64_t id = 0; id < 3; ++id) {
      const RowIndex row = store.add(id);
      const int64_t at = reinterpret_cast<const char*>(&store.meta(row)) - store.record(row);
      if (padding >= 8) {
        EXPECT_EQ(at, content) << "slot of " << slot;
      } else {
        EXPECT_LT(at, 0) << "slot of " << slot;
      }
    }
    for (RowIndex row = 0; row < 3; ++row) store.frequency(row) = row + 1;
    for (RowIndex row = 0; row < 3; ++row) EXPECT_EQ(store.meta(row).frequency, row + 1);
  }
}

TEST(RowStoreTest, SlotsBeginAtTheirInitialValues) {
  RowStore store(2);
  store.set_slots({{"m", 2, 0.5f}, {"count", 1, 2.0f}});
  EXPECT_EQ(store.slot_floats(), 3);
  const RowIndex row = store.add(7);
  EXPECT_THAT(std::vector<float>(store.slots(row), store.slots(row) + 3),
              testing::ElementsAre(0.5f, 0.5f, 2.0f));
}

TEST(RowStoreTest, SlotsMayBeLeftToTheCaller) {
  RowStore store(2);
  store.set_slots({{"sum", 2, 0.5F}});
  const RowIndex row = store.add_unset(7);
  EXPECT_EQ(store.id(row), 7);
  EXPECT_TRUE(store.in_use(row));
  EXPECT_EQ(store.frequency(row), 0u);
  EXPECT_EQ(store.last_step(row), 0u);
  store.slots(row)[0] = store.slots(row)[1] = 3;
  EXPECT_EQ(store.slots(store.add(8))[1], 0.5F);
}

TEST(RowStoreTest, ARemovedRowIsUsedAgainAndNothingLeaks) {
  RowStore store(2);
  store.set_slots({{"m", 2, 0.0f}});
  store.add(1);
  const RowIndex row = store.add(2);
  store.slots(row)[0] = store.slots(row)[1] = 9;
  store.frequency(row) = 4;
  store.last_step(row) = 5;
  store.remove(row);
  EXPECT_FALSE(store.in_use(row));
  EXPECT_EQ(store.size(), 1);
  ASSERT_EQ(store.add(3), row);
  EXPECT_TRUE(store.in_use(row));
  EXPECT_EQ(store.id(row), 3);
  EXPECT_EQ(store.frequency(row), 0);
  EXPECT_EQ(store.last_step(row), 0);
  EXPECT_EQ(store.slots(row)[0], 0);
  EXPECT_EQ(store.slots(row)[1], 0);
  EXPECT_EQ(store.size(), 2);
  EXPECT_EQ(store.end(), 2);
}

TEST(RowStoreTest, CountsWhatItKeepsOfRemovedRows) {
  RowStore store(16);
  for (int64_t id = 0; id < 1000; ++id) store.add(id);
  const int64_t before = store.bookkeeping_bytes();
  EXPECT_GT(before, 0);
  for (RowIndex row = 0; row < 1000; row += 2) store.remove(row);
  EXPECT_GE(store.bookkeeping_bytes(), before + 4 * 500);
  store.clear();
  EXPECT_LT(store.bookkeeping_bytes(), before + 4 * 500);
}

TEST(RowStoreTest, CountsItsMemoryAndGivesItBack) {
  RowStore store(16);  // 80 bytes per row
  EXPECT_EQ(store.bytes(), 0);
  store.add(1);
  const int64_t one = store.bytes();
  EXPECT_LT(one, 700 << 10);  // the head of a block and one page of records
  int64_t id = 2;
  while (store.bytes() < BlockPool::kBlockBytes) store.add(id++);
  EXPECT_GT(id, 25000);
  while (store.bytes() == BlockPool::kBlockBytes) store.add(id++);
  EXPECT_EQ(store.bytes(), 2 * BlockPool::kBlockBytes);
  EXPECT_LE((id - 2) * 80, BlockPool::kBlockBytes);
  EXPECT_GT((id - 1) * 81, BlockPool::kBlockBytes);
  // The first block is emptied; the second is kept.
  for (RowIndex row = 0; row + 1 < store.end(); ++row) store.remove(row);
  EXPECT_EQ(store.bytes(), BlockPool::kBlockBytes);
  EXPECT_EQ(store.size(), 1);
  EXPECT_FALSE(store.in_use(0));
  EXPECT_EQ(store.add(7), 0);
  EXPECT_EQ(store.id(0), 7);
  EXPECT_EQ(store.bytes(), 2 * BlockPool::kBlockBytes);
  store.clear();
  EXPECT_EQ(store.bytes(), 0);
  EXPECT_EQ(store.size(), 0);
  EXPECT_EQ(store.add(1), 0);
}

TEST(RowStoreTest, CompactingMovesRowsDownAndGivesMemoryBack) {
  RowStore store(16);
  store.set_slots({{"m", 16, 0.5f}});
  std::map<int64_t, RowIndex> rows;
  for (int64_t id = 0; id < 100000; ++id) {
    const RowIndex row = rows[id] = store.add(id);
    *store.weights(row) = static_cast<float>(id);
    store.slots(row)[15] = static_cast<float>(2 * id);
    store.meta(row) = {static_cast<uint32_t>(id), static_cast<uint32_t>(id + 1)};
  }
  const int64_t before = store.bytes();
  for (int64_t id = 0; id < 100000; ++id) {
    if (id % 10 == 3) continue;
    store.remove(rows[id]);
    rows.erase(id);
  }
  EXPECT_GT(store.bytes(), before / 2);  // every block still has rows
  store.compact([&](int64_t id, RowIndex to) { rows[id] = to; });
  EXPECT_LT(store.bytes(), before / 5);
  EXPECT_EQ(store.size(), 10000);
  EXPECT_LT(store.end(), 25000);
  for (const auto& [id, row] : rows) {
    ASSERT_TRUE(store.in_use(row));
    ASSERT_EQ(store.id(row), id);
    ASSERT_EQ(*store.weights(row), static_cast<float>(id));
    ASSERT_EQ(store.slots(row)[15], static_cast<float>(2 * id));
    ASSERT_EQ(store.meta(row).frequency, id);
    ASSERT_EQ(store.meta(row).last_step, id + 1);
  }
  store.compact([](int64_t, RowIndex) { ADD_FAILURE() << "nothing is left to move"; });
  for (const auto& [id, row] : rows) store.remove(row);
  store.compact([](int64_t, RowIndex) { ADD_FAILURE() << "there is no row"; });
  EXPECT_EQ(store.bytes(), 0);
  EXPECT_EQ(store.end(), 0);
  EXPECT_EQ(store.add(1), 0);
}

TEST(RowStoreTest, RowNumbersAndPlacesAgreeForEveryWidth) {
  for (const int64_t dim : {1, 3, 16, 100, 333, 1024, 4096}) {
    for (const RowType type : {RowType::kFloat32, RowType::kFloat16, RowType::kBfloat16}) {
      RowStore store(dim, type);
      store.set_slots({{"m", dim, 0.0f}, {"v", dim, 0.0f}});
      EXPECT_EQ(store.weight_bytes() % 4, 0);
      const int64_t rows = 3 * BlockPool::kBlockBytes / store.content_bytes();
      for (int64_t id = 0; id < rows; ++id) {
        const RowIndex row = store.add(id * 7);
        store.record(row)[0] = static_cast<char>(id);
        store.slots(row)[2 * dim - 1] = static_cast<float>(id);
      }
      for (RowIndex row = 0; row < store.end(); ++row) {
        ASSERT_TRUE(store.in_use(row));
        ASSERT_EQ(store.id(row), row * int64_t{7});
        ASSERT_EQ(store.record(row)[0], static_cast<char>(row));
        ASSERT_EQ(store.slots(row)[2 * dim - 1], static_cast<float>(row));
      }
    }
  }
}

TEST(RowStoreTest, HalfRowsAreReadAndWrittenAsFloat32) {
  RowStore store(3, RowType::kFloat16);
  store.set_slots({{"m", 1, 4.0f}});
  const RowIndex row = store.add(1);
  store.write_weights(row, {1.0f, -0.333333f, 70000.0f});
  std::vector<float> weights(3);
  store.read_weights(row, absl::MakeSpan(weights));
  EXPECT_THAT(weights, testing::ElementsAre(1.0f, -0.33325195f, 65504.0f));
  EXPECT_EQ(store.slots(row)[0], 4);
  EXPECT_EQ(store.weight_bytes(), 8);
  EXPECT_EQ(store.content_bytes(), 12);
}

TEST(RowStoreTest, StoresShareAPool) {
  auto pool = std::make_shared<BlockPool>(/*background=*/true);
  RowStore first(8, RowType::kFloat32, pool), second(8, RowType::kFloat32, pool);
  for (int64_t id = 0; id < 60000; ++id) {
    *first.weights(first.add(id)) = static_cast<float>(id);
    *second.weights(second.add(id)) = static_cast<float>(-id);
  }
  for (RowIndex row = 0; row < 60000; ++row) {
    ASSERT_EQ(*first.weights(row), static_cast<float>(row));
    ASSERT_EQ(*second.weights(row), -static_cast<float>(row));
  }
}

TEST(RowStoreDeathTest, RefusesMisuse) {
  RowStore store(1);
  const RowIndex row = store.add(1);
  EXPECT_DEATH(store.set_slots({{"m", 1, 0.0f}}), "cannot change");
  store.remove(row);
  EXPECT_DEATH(store.remove(row), "not in use");
}

}  // namespace
}  // namespace millrace
