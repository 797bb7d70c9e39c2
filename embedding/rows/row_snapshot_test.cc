#include "embedding/rows/row_snapshot.h"

#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/hash.h"
#include "embedding/rows/row_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace millrace {
namespace {

constexpr int64_t kPlenty = int64_t{1} << 30;

std::shared_ptr<UndoBudget> budget(int64_t bytes = kPlenty) {
  return std::make_shared<UndoBudget>(bytes);
}

// Adds rows of two weights, both the row's id, with metas {id, id}.
void add(RowStore& store, int64_t begin, int64_t end) {
  for (int64_t id = begin; id < end; ++id) {
    const RowIndex row = store.add(id);
    store.weights(row)[0] = store.weights(row)[1] = static_cast<float>(id);
    store.meta(row) = {static_cast<uint32_t>(id), static_cast<uint32_t>(id)};
  }
}

void change(RowStore& store, RowIndex row, float value) {
  store.preserve({&row, 1});
  store.weights(row)[0] = store.weights(row)[1] = value;
  store.meta(row) = {9, 9};
}

// Returns the first weight of each id; checks all other content.
std::map<int64_t, float> content(const RowSnapshot& rows) {
  std::map<int64_t, float> result;
  ThreadPool threads(2);
  uint64_t last = 0;
  for (const RowIndex row : rows.in_placement_order(threads)) {
    const int64_t id = rows.id(row);
    EXPECT_TRUE(result.empty() || placement_hash(id) > last) << id;
    last = placement_hash(id);
    float weights[2];
    rows.copy(row, 0, 8, reinterpret_cast<char*>(weights));
    float second = 0;
    rows.copy(row, 4, 4, reinterpret_cast<char*>(&second));
    EXPECT_EQ(weights[0], weights[1]);
    EXPECT_EQ(second, weights[1]);
    const RowMeta meta = rows.meta(row);
    EXPECT_EQ(meta.frequency, static_cast<uint32_t>(weights[0]));
    EXPECT_EQ(meta.last_step, static_cast<uint32_t>(weights[0]));
    result[id] = weights[0];
  }
  return result;
}

std::map<int64_t, float> ids(int64_t begin, int64_t end) {
  std::map<int64_t, float> result;
  for (int64_t id = begin; id < end; ++id) result[id] = static_cast<float>(id);
  return result;
}

TEST(RowSnapshotTest, AViewIsTheRowsInOrder) {
  for (const int64_t count : {0, 1, 2, 1000, 40000, 150000}) {
    RowStore store(2);
    add(store, 0, count + 3);
    for (int64_t id = count; id < count + 3; ++id) store.remove(static_cast<RowIndex>(id));
    const auto view = store.view();
    EXPECT_EQ(view->size(), count);
    EXPECT_EQ(content(*view), ids(0, count));
    EXPECT_FALSE(store.frozen());
  }
}

TEST(RowSnapshotTest, ChangedRowsAreReadAsTheyWere) {
  RowStore store(2);
  add(store, 0, 1000);
  const auto frozen = store.freeze(budget());
  ThreadPool threads(2);
  const absl::uint128 digest = frozen->content_digest(threads);
  for (RowIndex row = 0; row < 1000; row += 3) change(store, row, -1);
  for (RowIndex row = 0; row < 1000; row += 6) change(store, row, -2);
  EXPECT_EQ(content(*frozen), ids(0, 1000));
  EXPECT_EQ(frozen->content_digest(threads), digest);
  EXPECT_NE(store.view()->content_digest(threads), digest);
  EXPECT_EQ(store.weights(6)[0], -2);
  EXPECT_EQ(store.weights(3)[0], -1);
}

TEST(RowSnapshotTest, NewRowsAreNotInItAndTakeNoLog) {
  RowStore store(2);
  add(store, 0, 10);
  store.remove(4);
  const auto all = budget();
  const auto frozen = store.freeze(all);
  EXPECT_EQ(store.add(77), 4);  // row 4 was free
  change(store, 4, 5);
  add(store, 100, 50000);  // also in new blocks
  for (RowIndex row = 10; row < store.end(); ++row) change(store, row, 1);
  EXPECT_EQ(all->most_bytes(), 0);
  EXPECT_FALSE(frozen->contains(4));
  EXPECT_FALSE(frozen->contains(10));
  auto expected = ids(0, 10);
  expected.erase(4);
  EXPECT_EQ(content(*frozen), expected);
}

TEST(RowSnapshotTest, RemovedRowsStayWhereTheyAreUntilItHasBeenRead) {
  RowStore store(2);
  add(store, 0, 100);
  const auto frozen = store.freeze(budget());
  change(store, 7, -1);
  for (RowIndex row = 0; row < 50; ++row) store.remove(row);
  EXPECT_EQ(store.size(), 50);
  EXPECT_EQ(store.add(1000), 100);  // not the place of a held row
  store.remove(100);                // not in the snapshot, so free at once
  EXPECT_EQ(store.add(1001), 100);
  EXPECT_EQ(content(*frozen), ids(0, 100));
  EXPECT_FALSE(store.thaw());
  frozen->finish();
  EXPECT_TRUE(store.thaw());
  EXPECT_FALSE(store.frozen());
  EXPECT_EQ(store.add(1002), 49);
}

TEST(RowSnapshotTest, BlocksGiveTheirMemoryBackOnceItHasBeenRead) {
  RowStore store(1024);
  for (int64_t id = 0; id < 2000; ++id) {
    store.weights(store.add(id))[0] = static_cast<float>(id);
  }
  const int64_t bytes = store.bytes();
  const auto frozen = store.freeze(budget());
  for (RowIndex row = 0; row < 2000; ++row) store.remove(row);
  EXPECT_EQ(store.bytes(), bytes);
  float weight = 0;
  frozen->copy(1999, 0, 4, reinterpret_cast<char*>(&weight));
  EXPECT_EQ(weight, 1999);
  frozen->finish();
  EXPECT_TRUE(store.thaw());
  EXPECT_EQ(store.bytes(), 0);
  EXPECT_EQ(store.add(5), 0);
}

TEST(RowSnapshotTest, ItOutlivesTheRowsAndTheStore) {
  auto store = std::make_unique<RowStore>(2);
  add(*store, 0, 70000);
  const auto first = store->freeze(budget());
  change(*store, 5, -1);
  store->clear();
  EXPECT_FALSE(store->frozen());
  EXPECT_EQ(content(*first), ids(0, 70000));
  add(*store, 3, 8);
  const auto second = store->freeze(budget());
  change(*store, 0, -1);
  RowStore other(2, RowType::kFloat32, store->pool());
  other.swap_rows(*store);
  EXPECT_FALSE(store->frozen());
  change(other, 1, -1);
  store.reset();
  EXPECT_EQ(content(*first), ids(0, 70000));
  EXPECT_EQ(content(*second), ids(3, 8));
}

// A reader releases the snapshot on every path, including errors.
TEST(RowSnapshotTest, ItIsFinishedWhenNobodyReadsItAnyMore) {
  RowStore store(2);
  add(store, 0, 64);
  auto frozen = store.freeze(budget());
  std::shared_ptr<RowSnapshot> another = frozen;
  frozen.reset();
  EXPECT_FALSE(store.thaw());
  another.reset();
  EXPECT_TRUE(store.thaw());
  EXPECT_EQ(store.freeze(budget())->size(), 64);
  EXPECT_TRUE(store.thaw());
}

TEST(RowSnapshotTest, ARowIsLoggedOnceAndNothingAfterItHasBeenRead) {
  RowStore store(2);
  add(store, 0, 64);
  const auto all = budget();
  const auto frozen = store.freeze(all);
  for (int i = 0; i < 10; ++i) {
    for (RowIndex row = 0; row < 64; ++row) change(store, row, -1);
  }
  const int64_t most = all->most_bytes();
  EXPECT_EQ(most, 64 * (8 + 8));
  frozen->finish();
  EXPECT_EQ(all->taken_bytes(), 0);
  for (RowIndex row = 0; row < 64; ++row) change(store, row, -2);
  EXPECT_EQ(all->most_bytes(), most);
  EXPECT_TRUE(store.thaw());
  const auto next = store.freeze(all);
  EXPECT_EQ(next->size(), 64);
}

TEST(RowSnapshotTest, TrainingWaitsWhenTheLogIsFullUntilItHasBeenRead) {
  RowStore one(2), other(2);
  add(one, 0, 100);
  add(other, 0, 100);
  const auto all = budget(2000);  // enough for one of the two
  const auto frozen_one = one.freeze(all), frozen_other = other.freeze(all);
  for (RowIndex row = 0; row < 100; ++row) change(one, row, -1);
  std::thread training([&] {
    for (RowIndex row = 0; row < 100; ++row) change(other, row, -1);
  });
  EXPECT_EQ(content(*frozen_one), ids(0, 100));
  EXPECT_EQ(content(*frozen_other), ids(0, 100));
  frozen_one->finish();
  training.join();
  EXPECT_EQ(content(*frozen_other), ids(0, 100));
}

TEST(RowSnapshotTest, ReadersAndAWriterAtOnce) {
  RowStore store(2);
  constexpr int64_t kRows = 20000;
  add(store, 0, kRows);
  for (int round = 0; round < 3; ++round) {
    const auto frozen = store.freeze(budget());
    ThreadPool threads(1);
    const absl::uint128 digest = frozen->content_digest(threads);
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        ThreadPool own(1);
        for (int again = 0; again < 3; ++again) {
          EXPECT_EQ(frozen->content_digest(own), digest);
        }
      });
    }
    for (int again = 0; again < 3; ++again) {
      for (RowIndex row = 0; row < kRows; ++row) {
        change(store, row * 7919 % kRows, static_cast<float>(round));
      }
    }
    for (std::thread& reader : readers) reader.join();
    frozen->finish();
    EXPECT_TRUE(store.thaw());
  }
}

TEST(RowSnapshotDeathTest, RowsDoNotMoveUnderIt) {
  RowStore store(2);
  add(store, 0, 10);
  const auto frozen = store.freeze(budget());
  EXPECT_DEATH(store.compact([](int64_t, RowIndex) {}), "snapshot");
  EXPECT_DEATH(store.freeze(budget()), "frozen twice");
}

}  // namespace
}  // namespace millrace
