#include "embedding/id_map/id_map.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/memory/block_pool.h"
#include "base/status_matchers.h"
#include "embedding/id_map/id_map_testing.h"

namespace millrace {
namespace {

using testing::ElementsAre;

TEST(IdMapTest, EveryIdIsLegalAndUnknownAtFirst) {
  IdMap map;
  const std::vector<int64_t> ids = {0, -1, 1, kLowestId, kHighestId};
  EXPECT_THAT(find_rows(map, ids), testing::Each(kNoRow));
  RowCounter counter;
  EXPECT_THAT(insert_rows(map, counter, ids), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(find_rows(map, ids), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(map.size(), 5);
  EXPECT_THAT(find_rows(map, {2, -2, kLowestId + 1, kHighestId - 1}), testing::Each(kNoRow));
}

// 0 is also the id of free entries.
TEST(IdMapTest, ZeroIsNotTakenForAnEntryThatIsFilledJustBefore) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    IdMap map(seed);
    RowCounter counter;
    std::vector<int64_t> ids = id_range(1, 32);
    ids.push_back(0);
    const std::vector<RowIndex> rows = insert_rows(map, counter, ids);
    ASSERT_EQ(rows.back(), 31);
    ASSERT_EQ(find_rows(map, ids), rows);
  }
}

TEST(IdMapTest, EveryRowNumberIsLegal) {
  IdMap map;
  std::vector<RowIndex> rows(2);
  const std::vector<int64_t> ids = {0, 8};
  map.find_or_insert(ids, absl::MakeSpan(rows),
                     [](int64_t id) { return id == 0 ? 0 : kNoRow - 1; });
  EXPECT_THAT(find_rows(map, {0, 8, 1}), ElementsAre(0, kNoRow - 1, kNoRow));
}

TEST(IdMapTest, MakesRowsInOrderAndOnceForARepeatedId) {
  IdMap map;
  RowCounter counter;
  EXPECT_THAT(insert_rows(map, counter, {7, 3, 7, 9, 3}), ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(counter.ids, ElementsAre(7, 3, 9));
}

TEST(IdMapTest, NothingForNoIds) {
  IdMap map;
  RowCounter counter;
  EXPECT_THAT(insert_rows(map, counter, {}), testing::IsEmpty());
  EXPECT_THAT(find_rows(map, {}), testing::IsEmpty());
  NumberingStep step(map);
  EXPECT_THAT(step.look_up({}, counter), testing::IsEmpty());
  EXPECT_THAT(step.distinct, testing::IsEmpty());
  map.erase({});
  EXPECT_EQ(map.size(), 0);
}

TEST(IdMapTest, RefusedIdsAreNotInsertedAndAskedForAgain) {
  IdMap map;
  std::vector<int64_t> asked;
  auto odd_ones = [&](int64_t id) -> RowIndex {
    asked.push_back(id);
    return id % 2 == 0 ? kNoRow : static_cast<RowIndex>(id);
  };
  std::vector<RowIndex> rows(5);
  const std::vector<int64_t> ids = {2, 3, 2, 4, 3};
  map.find_or_insert(ids, absl::MakeSpan(rows), odd_ones);
  EXPECT_THAT(rows, ElementsAre(kNoRow, 3, kNoRow, kNoRow, 3));
  EXPECT_THAT(asked, ElementsAre(2, 3, 2, 4));
  EXPECT_EQ(map.size(), 1);
  NumberingStep step(map);
  EXPECT_THAT(step.look_up({4, 3, 5, 4}, odd_ones), ElementsAre(kNoPlace, 0, 1, kNoPlace));
  EXPECT_THAT(step.distinct, ElementsAre(3, 5));
  EXPECT_THAT(find_rows(map, {2, 3, 4, 5}), ElementsAre(kNoRow, 3, kNoRow, 5));
}

TEST(IdMapTest, AnIdMayBeAdmittedAtItsSecondOccurrence) {
  IdMap map;
  int occurrences = 0;
  NumberingStep step(map);
  EXPECT_THAT(step.look_up({8, 8, 8}, [&](int64_t) { return ++occurrences < 2 ? kNoRow : 5; }),
              ElementsAre(kNoPlace, 0, 0));
  EXPECT_EQ(occurrences, 2);
}

TEST(IdMapTest, NumbersDistinctRowsInTheOrderOfTheirFirstOccurrence) {
  IdMap map;
  RowCounter counter;
  NumberingStep step(map);
  EXPECT_THAT(step.look_up({30, 10, 30, 20, 10}, counter), ElementsAre(0, 1, 0, 2, 1));
  EXPECT_THAT(step.distinct, ElementsAre(0, 1, 2));
  EXPECT_THAT(step.look_up({20, 40}, counter), ElementsAre(2, 3));
  // Marks of the previous step have no effect in the next step.
  NumberingStep next(map);
  EXPECT_THAT(next.look_up({40, 50, 10, 40}, counter), ElementsAre(0, 1, 2, 0));
  EXPECT_THAT(next.distinct, ElementsAre(3, 4, 1));
}

TEST(IdMapTest, MarksHoldOverStepsGrowthAndEviction) {
  IdMap map;
  RowCounter counter;
  std::mt19937_64 random(5);
  for (int number = 0; number < 200; ++number) {
    NumberingStep step(map);
    absl::flat_hash_map<RowIndex, uint32_t> place_of_row;
    std::vector<RowIndex> expected;
    for (int call = 0; call < 3; ++call) {
      std::vector<int64_t> ids(700);
      for (int64_t& id : ids) id = static_cast<int64_t>(random() % (1 + 500 * number));
      const std::vector<uint32_t> places = step.look_up(ids, counter);
      const std::vector<RowIndex> rows = find_rows(map, ids);
      for (size_t i = 0; i < ids.size(); ++i) {
        const auto end = static_cast<uint32_t>(expected.size());
        const auto [entry, is_new] = place_of_row.emplace(rows[i], end);
        if (is_new) expected.push_back(rows[i]);
        ASSERT_EQ(places[i], entry->second);
      }
      ASSERT_EQ(step.distinct, expected);
    }
    if (number % 50 == 49) map.erase(id_range(0, 20000));
  }
}

TEST(IdMapTest, GrowsOneByOneThroughEverySize) {
  IdMap map;
  RowCounter counter;
  constexpr int64_t kCount = 150000;  // past 512 KiB, and several splits
  int64_t bytes = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    insert_rows(map, counter, {i * i});
    ASSERT_EQ(map.size(), i + 1);
    // After each growth, all ids are still present.
    if (map.bytes() == bytes) continue;
    bytes = map.bytes();
    for (int64_t j = 0; j <= i; j += 1 + i / 1000) {
      ASSERT_THAT(find_rows(map, {j * j}), ElementsAre(static_cast<RowIndex>(j)));
    }
  }
  for (int64_t i = 0; i < kCount; ++i) {
    ASSERT_THAT(find_rows(map, {i * i}), ElementsAre(static_cast<RowIndex>(i)));
  }
  EXPECT_TRUE(map.is_consistent());
}

TEST(IdMapTest, RoomThatIsReservedIsEnough) {
  for (const int64_t count : {0, 1, 200, 1'000, 30'000, 44'000, 100'000, 400'000}) {
    IdMap map(/*seed=*/7);
    map.reserve(count);
    const int64_t bytes = map.bytes();
    EXPECT_LE(bytes, 48 * count + (2 << 20)) << count;
    std::vector<int64_t> ids(count);
    for (int64_t i = 0; i < count; ++i) ids[i] = i * 977;
    std::vector<RowIndex> rows(count);
    RowIndex next = 0;
    map.find_or_insert(ids, absl::MakeSpan(rows), [&](int64_t) { return next++; });
    EXPECT_EQ(map.bytes(), bytes) << count;
    map.reserve(10 * count);  // the map is not empty
    EXPECT_EQ(map.bytes(), bytes) << count;
    std::vector<RowIndex> found(count);
    map.find(ids, absl::MakeSpan(found));
    EXPECT_EQ(found, rows);
    map.erase(absl::MakeSpan(ids).subspan(count / 50));
    EXPECT_EQ(map.size(), count / 50);
    map.find(ids, absl::MakeSpan(found));
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_EQ(found[i], i < count / 50 ? rows[i] : kNoRow) << i << " of " << count;
    }
  }
}

TEST(IdMapTest, NumbersIdsWhileItGrows) {
  IdMap map;
  RowCounter counter;
  const std::vector<int64_t> ids = id_range(0, 200000);
  std::vector<uint32_t> places(ids.size());
  std::vector<RowIndex> distinct;
  auto make_row = [&](int64_t id) { return counter(id); };
  map.find_or_insert_distinct(ids, make_row, distinct, absl::MakeSpan(places));
  EXPECT_EQ(distinct.size(), ids.size());
  std::vector<RowIndex> rows(ids.size());
  map.find(ids, absl::MakeSpan(rows));
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(rows[i], i);
}

TEST(IdMapTest, TellsOfEachBlockOfNumberedIds) {
  for (const int64_t count : {0, 1, 31, 32, 33, 1000, 100000}) {  // the last one splits segments
    IdMap map;
    RowCounter counter;
    std::vector<int64_t> ids = id_range(0, count);
    for (size_t i = 0; i < ids.size(); i += 3) ids[i] /= 2;
    std::vector<uint32_t> places(ids.size(), kNoPlace);
    std::vector<RowIndex> distinct = {};
    int64_t seen = 0;
    const auto each_block = [&](int64_t end, absl::Span<const RowIndex> so_far) {
      ASSERT_GT(end, seen);
      ASSERT_LE(end, count);
      for (; seen < end; ++seen) ASSERT_LT(places[seen], so_far.size());
      ASSERT_EQ(so_far.back(), so_far.size() - 1);
    };
    auto make_row = [&](int64_t id) { return counter(id); };
    map.find_or_insert_distinct(ids, make_row, distinct, absl::MakeSpan(places), each_block);
    EXPECT_EQ(seen, count);
    EXPECT_EQ(distinct.size(), map.size());
  }
}

TEST(IdMapTest, EraseForgetsAndIgnoresUnknownIds) {
  IdMap map;
  RowCounter counter;
  insert_rows(map, counter, {1, 2, 3});
  map.erase({2, 4, 2});
  EXPECT_THAT(find_rows(map, {1, 2, 3}), ElementsAre(0, kNoRow, 2));
  EXPECT_EQ(map.size(), 2);
  EXPECT_THAT(insert_rows(map, counter, {2}), ElementsAre(3));
}

TEST(IdMapTest, EraseAtManySizesLeavesTheOthers) {
  for (int64_t count = 1; count < 30000; count = count * 3 / 2 + 1) {
    IdMap map;
    RowCounter counter;
    const std::vector<int64_t> ids = id_range(-count / 2, count - count / 2);
    insert_rows(map, counter, ids);
    const int64_t step = std::max<int64_t>(1, count / 50);
    for (int64_t begin = 0; begin < count; begin += step) {
      const int64_t end = std::min(count, begin + step);
      map.erase(absl::MakeSpan(ids).subspan(begin, end - begin));
      ASSERT_EQ(map.size(), count - end);
      ASSERT_TRUE(map.is_consistent());
      const std::vector<RowIndex> rows = find_rows(map, ids);
      for (int64_t i = 0; i < count; ++i) ASSERT_EQ(rows[i], i < end ? kNoRow : i);
    }
  }
}

TEST(IdMapTest, BytesAreWithinWhatTheHeaderSays) {
  IdMap map;
  EXPECT_LE(map.bytes(), 5000) << "a small table is small";
  RowCounter counter;
  for (int64_t begin = 0; begin < 2000000; begin += 1000) {
    insert_rows(map, counter, id_range(begin, begin + 1000));
    // A small map has at least a page, and one block may be partly used.
    ASSERT_LE(map.bytes(), map.size() * 48 + (2 << 20)) << map.size();
    ASSERT_GE(map.bytes(), map.size() * 22) << map.size();
    ASSERT_LE(map.load(), 0.71);
  }
  EXPECT_LE(map.bytes(), map.size() * 47);
  EXPECT_GE(map.load(), 0.34);
}

TEST(IdMapTest, SegmentsComeFromThePool) {
  const auto pool = std::make_shared<BlockPool>(/*background=*/true);
  RowCounter counter;
  IdMap map(best_instruction_set(), pool);
  EXPECT_EQ(pool.use_count(), 2);
  insert_rows(map, counter, id_range(0, 200'000));
  EXPECT_TRUE(map.is_consistent());
  // All memory except a page is released; the pool keeps some blocks.
  map.clear();
  EXPECT_GT(pool->ready_bytes(), 0);
  // swap() also exchanges the pools.
  {
    IdMap other;
    insert_rows(other, counter, id_range(0, 200'000));
    map.swap(other);
    insert_rows(other, counter, id_range(0, 200'000));
    EXPECT_TRUE(other.is_consistent());
  }
  EXPECT_EQ(pool.use_count(), 1);
  EXPECT_EQ(map.size(), 200'000);
  EXPECT_TRUE(map.is_consistent());
}

TEST(IdMapTest, GivesMemoryBackWhenMostIdsAreErased) {
  IdMap map(/*seed=*/1);  // the seed decides which segments share a page
  const int64_t empty_bytes = map.bytes();
  RowCounter counter;
  constexpr int64_t kCount = 2000000;
  insert_rows(map, counter, id_range(0, kCount));
  const int64_t full_bytes = map.bytes();
  map.erase(id_range(kCount / 10, kCount));
  EXPECT_EQ(map.size(), kCount / 10);
  EXPECT_LE(map.bytes(), full_bytes / 2);
  const std::vector<RowIndex> rows = find_rows(map, id_range(0, kCount / 5));
  for (int64_t i = 0; i < kCount / 5; ++i) ASSERT_EQ(rows[i], i < kCount / 10 ? i : kNoRow);
  map.erase(id_range(0, kCount));
  EXPECT_EQ(map.size(), 0);
  EXPECT_LE(map.bytes(), empty_bytes + 4096) << "the lists of segments may keep their capacity";
  insert_rows(map, counter, id_range(0, kCount / 4));
  EXPECT_THAT(find_rows(map, {0, kCount / 4 - 1}), ElementsAre(kCount, kCount + kCount / 4 - 1));
}

TEST(IdMapTest, ClearGivesMemoryBack) {
  IdMap map;
  const int64_t empty_bytes = map.bytes();
  RowCounter counter;
  insert_rows(map, counter, id_range(0, 300000));
  EXPECT_GT(map.bytes(), 300000 * 22);
  map.clear();
  EXPECT_EQ(map.bytes(), empty_bytes);
  EXPECT_EQ(map.size(), 0);
  EXPECT_THAT(find_rows(map, {0}), ElementsAre(kNoRow));
  EXPECT_THAT(insert_rows(map, counter, {0}), ElementsAre(300000));
}

TEST(IdMapTest, VisitsEachEntryOnce) {
  IdMap map;
  map.for_each([](int64_t, RowIndex) { FAIL() << "an empty map has no entries"; });
  RowCounter counter;
  insert_rows(map, counter, id_range(-70000, 70000));
  map.erase(id_range(0, 1000));
  std::vector<int> visits(140000);
  map.for_each([&](int64_t id, RowIndex row) {
    ++visits[row];
    EXPECT_EQ(id, static_cast<int64_t>(row) - 70000);
  });
  for (int64_t row = 0; row < 140000; ++row) {
    ASSERT_EQ(visits[row], row >= 70000 && row < 71000 ? 0 : 1) << row;
  }
}

// The seed changes only the places of entries; the instruction set changes nothing.
TEST(IdMapTest, ResultsDependNeitherOnTheSeedNorOnTheInstructionSet) {
  auto results = [](IdMap& map) {
    RowCounter counter;
    std::vector<uint32_t> all;
    std::mt19937_64 random(3);
    for (int number = 0; number < 50; ++number) {
      NumberingStep step(map);
      std::vector<int64_t> ids(3000);
      for (int64_t& id : ids) id = static_cast<int64_t>(random() % 100000);
      for (const uint32_t place : step.look_up(ids, counter)) all.push_back(place);
      for (const RowIndex row : step.distinct) all.push_back(row);
      map.erase(absl::MakeSpan(ids).first(500));
    }
    return all;
  };
  IdMap map(1);
  const std::vector<uint32_t> expected = results(map);
  for (const InstructionSet set : instruction_sets_here()) {
    IdMap same(1, set), other(2, set), any(set);
    EXPECT_EQ(results(same), expected) << name_of(set);
    EXPECT_EQ(results(other), expected) << name_of(set);
    EXPECT_EQ(results(any), expected) << name_of(set);
  }
}

TEST(IdMapTest, ManyThreadsFindAtOnce) {
  IdMap map;
  RowCounter counter;
  const std::vector<int64_t> ids = id_range(0, 100000);
  insert_rows(map, counter, ids);
  std::vector<std::vector<RowIndex>> rows(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      rows[t] = find_rows(map, ids);
      map.for_each([&](int64_t id, RowIndex row) { ASSERT_EQ(rows[t][id], row); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(rows[t][i], i);
  }
}

}  // namespace
}  // namespace millrace
