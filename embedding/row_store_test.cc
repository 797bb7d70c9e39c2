#include "embedding/row_store.h"

#include <cstdint>

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

TEST(RowStoreTest, SlotsBeginAtTheirInitialValues) {
  RowStore store(2);
  store.set_slots({{"m", 2, 0.5f}, {"count", 1, 2.0f}});
  EXPECT_EQ(store.slot_floats(), 3);
  const RowIndex row = store.add(7);
  EXPECT_THAT(std::vector<float>(store.slots(row), store.slots(row) + 3),
              testing::ElementsAre(0.5f, 0.5f, 2.0f));
}

TEST(RowStoreTest, ARemovedRowIsUsedAgainAndNothingLeaks) {
  RowStore store(2);
  store.set_slots({{"m", 2, 0.0f}});
  store.add(1);
  const RowIndex row = store.add(2);
  store.slots(row)[0] = store.slots(row)[1] = 9;
  store.frequency(row) = 4;
  store.last_step(row) = 5;
  store.mark(row) = 6;
  store.remove(row);
  EXPECT_FALSE(store.in_use(row));
  EXPECT_EQ(store.size(), 1);
  ASSERT_EQ(store.add(3), row);
  EXPECT_TRUE(store.in_use(row));
  EXPECT_EQ(store.id(row), 3);
  EXPECT_EQ(store.frequency(row), 0);
  EXPECT_EQ(store.last_step(row), 0);
  EXPECT_EQ(store.mark(row), 0);
  EXPECT_EQ(store.slots(row)[0], 0);
  EXPECT_EQ(store.slots(row)[1], 0);
  EXPECT_EQ(store.size(), 2);
  EXPECT_EQ(store.end(), 2);
}

TEST(RowStoreTest, CountsItsMemoryAndGivesItBack) {
  RowStore store(16);
  EXPECT_EQ(store.bytes(), 0);
  store.add(1);
  const int64_t block = store.bytes();
  EXPECT_GE(block, 1024 * 64);
  for (int64_t id = 2; id <= 1024; ++id) store.add(id);
  EXPECT_EQ(store.bytes(), block);
  store.add(1025);
  EXPECT_EQ(store.bytes(), 2 * block);
  store.clear();
  EXPECT_EQ(store.bytes(), 0);
  EXPECT_EQ(store.size(), 0);
  EXPECT_EQ(store.add(1), 0);
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
